small = sprintf(",%g", 17*pt)
unset border
unset grid
unset key
unset colorbox
set style fill solid 1.0 noborder
log2(x) = log(x)/log(2)
shown(text) = strlen(text) ? sprintf("%.2f", real(text)) : "N/A"
stats "../fused.csv" skip 1 using 3 nooutput
far = STATS_max - 1 > 1 - STATS_min ? STATS_max - 1 : 1 - STATS_min
set cbrange [1-far:1+far]
set palette defined (-1 "#0072B2", 0 "#ffffff", 1 "#D55E00")
set xrange [6.5:13.5]
set yrange [3.5:10.5]
unset xtics
unset ytics
set for [i=7:13] xtics add (sprintf("%d", 2**i) i)
set for [i=4:10] ytics add (sprintf("%d", 2**i) i)
set xtics scale 0 offset 0,0.4
set ytics scale 0
set title "PRESERVE over fused GEMM and all-reduce" offset 0,-0.6
set ylabel "Batch"
set xlabel "Length, Llama3-70B fp16 on 4 x Ascend 910B" offset 0,0.9
plot "../fused.csv" skip 1  using (log2($2)):(log2($1)):(log2($2)-0.48):(log2($2)+0.48):(log2($1)-0.47):(log2($1)+0.47) with boxxyerror lc rgb "#d8d8d8", \
     "" skip 1  using (log2($2)):(log2($1)):(log2($2)-0.48):(log2($2)+0.48):(log2($1)-0.47):(log2($1)+0.47):3 with boxxyerror lc palette, \
     "" skip 1  using (log2($2)):(log2($1)):(shown(strcol(3))) with labels font small
