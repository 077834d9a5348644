small = sprintf(",%g", 17*pt)
unset border
unset grid
unset key
unset colorbox
set style fill solid 1.0 noborder
log2(x) = log(x)/log(2)
shown(text) = strlen(text) ? sprintf("%.2f", real(text)) : "N/A"
stats "../lengths.csv" skip 1 using 4 nooutput
set cbrange [1:STATS_max]
set palette defined (0 "#ffffff", 1 "#D55E00")
set xrange [-0.5:8.5]
set yrange [9.5:16.5]
unset xtics
unset ytics
set for [i=10:16] ytics add (sprintf("%dk", 2**(i-10)) i)
set ytics scale 0
set ylabel "Length" offset 0.5,0
set lmargin at screen 0.13
set rmargin at screen 0.99
set multiplot
set title "llama3-70b, speed-up of a last step" offset 0,-0.8
set bmargin at screen 546.0/height
set tmargin at screen 746.0/height
plot "../lengths.csv" skip 1 every ::0::62 using (log2($2)):(log2($3)):(log2($2)-0.48):(log2($2)+0.48):(log2($3)-0.47):(log2($3)+0.47) with boxxyerror lc rgb "#d8d8d8", \
     "" skip 1 every ::0::62 using (log2($2)):(log2($3)):(log2($2)-0.48):(log2($2)+0.48):(log2($3)-0.47):(log2($3)+0.47):4 with boxxyerror lc palette, \
     "" skip 1 every ::0::62 using (log2($2)):(log2($3)):(shown(strcol(4))) with labels font small
set title "qwen2-72b, speed-up of a last step" offset 0,-0.8
set bmargin at screen 304.0/height
set tmargin at screen 504.0/height
plot "../lengths.csv" skip 1 every ::63::125 using (log2($2)):(log2($3)):(log2($2)-0.48):(log2($2)+0.48):(log2($3)-0.47):(log2($3)+0.47) with boxxyerror lc rgb "#d8d8d8", \
     "" skip 1 every ::63::125 using (log2($2)):(log2($3)):(log2($2)-0.48):(log2($2)+0.48):(log2($3)-0.47):(log2($3)+0.47):4 with boxxyerror lc palette, \
     "" skip 1 every ::63::125 using (log2($2)):(log2($3)):(shown(strcol(4))) with labels font small
set title "phi3-medium, speed-up of a last step" offset 0,-0.8
set bmargin at screen 62.0/height
set tmargin at screen 262.0/height
set for [i=0:8] xtics add (sprintf("%d", 2**i) i)
set xtics scale 0 offset 0,0.4
set xlabel "Batch, 4 x Ascend 910B, int8" offset 0,0.9
plot "../lengths.csv" skip 1 every ::126::188 using (log2($2)):(log2($3)):(log2($2)-0.48):(log2($2)+0.48):(log2($3)-0.47):(log2($3)+0.47) with boxxyerror lc rgb "#d8d8d8", \
     "" skip 1 every ::126::188 using (log2($2)):(log2($3)):(log2($2)-0.48):(log2($2)+0.48):(log2($3)-0.47):(log2($3)+0.47):4 with boxxyerror lc palette, \
     "" skip 1 every ::126::188 using (log2($2)):(log2($3)):(shown(strcol(4))) with labels font small
unset multiplot
