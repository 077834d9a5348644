small = sprintf(",%g", 16*pt)
set key outside top center vertical maxrows 5 Left reverse samplen 1.6 spacing 0.95 font small
set xlabel "L2 of a device (MB)"
set ylabel "Latency over that at 8 MB"
set xrange [0:160]
set xtics 32
set yrange [*:1]
set ytics 0.1
plot "../l2_size.csv" skip 1 every 1::0 using 1:2 with lines lw 1.5 lc rgb "#0072B2" notitle, \
     "../l2_size.csv" skip 1 every 5::0 using 1:2 with points pt 7 ps 0.8 lc rgb "#0072B2" notitle, \
     "../l2_size.csv" skip 1 every 1::0 using 1:11 with lines lw 1.5 lc rgb "#0072B2" notitle, \
     "../l2_size.csv" skip 1 every 5::1 using 1:11 with points pt 9 ps 0.8 lc rgb "#0072B2" notitle, \
     "../l2_size.csv" skip 1 every 1::0 using 1:8 with lines lw 1.5 lc rgb "#0072B2" notitle, \
     "../l2_size.csv" skip 1 every 5::2 using 1:8 with points pt 5 ps 0.8 lc rgb "#0072B2" notitle, \
     "../l2_size.csv" skip 1 every 1::0 using 1:5 with lines lw 1.5 lc rgb "#0072B2" notitle, \
     "../l2_size.csv" skip 1 every 5::3 using 1:5 with points pt 11 ps 0.8 lc rgb "#0072B2" notitle, \
     "../l2_size.csv" skip 1 every 1::0 using 1:9 with lines lw 1.5 lc rgb "#0072B2" notitle, \
     "../l2_size.csv" skip 1 every 5::4 using 1:9 with points pt 13 ps 0.8 lc rgb "#0072B2" notitle, \
     "../l2_size.csv" skip 1 every 1::0 using 1:3 with lines lw 1.5 lc rgb "#D55E00" notitle, \
     "../l2_size.csv" skip 1 every 5::0 using 1:3 with points pt 7 ps 0.8 lc rgb "#D55E00" notitle, \
     "../l2_size.csv" skip 1 every 1::0 using 1:6 with lines lw 1.5 lc rgb "#D55E00" notitle, \
     "../l2_size.csv" skip 1 every 5::1 using 1:6 with points pt 9 ps 0.8 lc rgb "#D55E00" notitle, \
     "../l2_size.csv" skip 1 every 1::0 using 1:7 with lines lw 1.5 lc rgb "#D55E00" notitle, \
     "../l2_size.csv" skip 1 every 5::2 using 1:7 with points pt 5 ps 0.8 lc rgb "#D55E00" notitle, \
     "../l2_size.csv" skip 1 every 1::0 using 1:4 with lines lw 1.5 lc rgb "#D55E00" notitle, \
     "../l2_size.csv" skip 1 every 5::3 using 1:4 with points pt 11 ps 0.8 lc rgb "#D55E00" notitle, \
     "../l2_size.csv" skip 1 every 1::0 using 1:10 with lines lw 1.5 lc rgb "#009E73" notitle, \
     "../l2_size.csv" skip 1 every 5::0 using 1:10 with points pt 7 ps 0.8 lc rgb "#009E73" notitle, \
     "../l2_size.csv" skip 1 every 1::0 using 1:12 with lines lw 1.5 lc rgb "#009E73" notitle, \
     "../l2_size.csv" skip 1 every 5::1 using 1:12 with points pt 9 ps 0.8 lc rgb "#009E73" notitle, \
     "../l2_size.csv" skip 1 every 1::0 using 1:13 with lines lw 1.5 lc rgb "#009E73" notitle, \
     "../l2_size.csv" skip 1 every 5::2 using 1:13 with points pt 5 ps 0.8 lc rgb "#009E73" notitle, \
     "../l2_size.csv" skip 1 using 1:14 with lines lc rgb "#000000" lw 4 notitle, \
     "" skip 1 using 1:15 with lines lc rgb "#000000" lw 2.5 dt 2 notitle, \
     keyentry with linespoints lc rgb "#0072B2" lw 1.5 pt 7 ps 0.8 title "llama3-8b", \
     keyentry with linespoints lc rgb "#0072B2" lw 1.5 pt 9 ps 0.8 title "mistral-7b", \
     keyentry with linespoints lc rgb "#0072B2" lw 1.5 pt 5 ps 0.8 title "phi3-small", \
     keyentry with linespoints lc rgb "#0072B2" lw 1.5 pt 11 ps 0.8 title "qwen2-7b", \
     keyentry with linespoints lc rgb "#0072B2" lw 1.5 pt 13 ps 0.8 title "phi3-medium", \
     keyentry with linespoints lc rgb "#D55E00" lw 1.5 pt 7 ps 0.8 title "llama3-70b", \
     keyentry with linespoints lc rgb "#D55E00" lw 1.5 pt 9 ps 0.8 title "qwen2-72b", \
     keyentry with linespoints lc rgb "#D55E00" lw 1.5 pt 5 ps 0.8 title "qwen1.5-110b", \
     keyentry with linespoints lc rgb "#D55E00" lw 1.5 pt 11 ps 0.8 title "llama3.1-405b", \
     keyentry with lines lc rgb "#000000" lw 4 title "mean", \
     keyentry with linespoints lc rgb "#009E73" lw 1.5 pt 7 ps 0.8 title "phi3.5-moe", \
     keyentry with linespoints lc rgb "#009E73" lw 1.5 pt 9 ps 0.8 title "mixtral-8x7b", \
     keyentry with linespoints lc rgb "#009E73" lw 1.5 pt 5 ps 0.8 title "mixtral-8x22b", \
     keyentry with lines lc rgb "#000000" lw 2.5 dt 2 title "mean, physical"
