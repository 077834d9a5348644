small = sprintf(",%g", 17*pt)
stats "../l2_size.csv" skip 1 using 16 nooutput
scale = STATS_max/14.8
set xlabel "L2 of a device (MB)"
set ylabel "Tokens/s/mm^2, over 32 dies"
set xrange [0:160]
set xtics 32
set ytics 0.02
set offsets graph 0, 0, graph 0.06, graph 0.04
set key outside top center vertical maxrows 5 Left reverse samplen 1.6 font small
$paper << end
104,14.8
8,11.8
end
plot "../l2_size.csv" skip 1 using 1:16 with lines lc rgb "#0072B2" lw 3.5 title "with prefetching", \
     "" skip 1 using 1:17 with lines lc rgb "#D55E00" lw 3.5 title "without", \
     "" skip 1 using 1:18 with lines lc rgb "#0072B2" lw 2.5 dt 2 title "with, physical", \
     "" skip 1 using 1:19 with lines lc rgb "#D55E00" lw 2.5 dt 2 title "without, physical", \
     $paper using 1:($2*scale) with points lc rgb "#000000" pt 7 ps 1 \
       title sprintf("the paper's peaks, 14.8 and 11.8, times %.4f", scale)
