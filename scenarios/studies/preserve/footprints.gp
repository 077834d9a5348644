small = sprintf(",%g", 16*pt)
set key outside top center vertical maxrows 5 Left reverse samplen 1.6 spacing 0.95 font small
set multiplot
set logscale x 2
set logscale y 10
set xrange [1:64]
set yrange [2:3000]
set ytics (10, 100, 1000)
set xtics offset 0,0.3
set tmargin at screen 1-156.0/height
set bmargin at screen 78.0/height
set lmargin at screen 86.0/680
set rmargin at screen 322.0/680
set label 1 "Attention" at graph 0.5, graph 1.06 center
set label 2 "MB a device" at screen 22.0/680, screen 0.42 center rotate
set label 3 "Devices, tensor parallel" at screen 0.5, screen 20.0/height center
set key at screen 0.5, screen 1-8.0/height center top
set arrow 10 from 1, cache_910b to 64, cache_910b nohead lc rgb "#404040" lw 1.5 dt (6,4)
set arrow 11 from 1, cache_l40s to 64, cache_l40s nohead lc rgb "#404040" lw 1.5 dt (6,4)
set arrow 12 from 1, cache_h100 to 64, cache_h100 nohead lc rgb "#404040" lw 1.5 dt (6,4)
plot "../footprints.csv" skip 1 every 1::0::6 using 2:3 with lines lw 1.5 lc rgb "#0072B2" notitle, \
     "../footprints.csv" skip 1 every 5::0::6 using 2:3 with points pt 7 ps 0.8 lc rgb "#0072B2" notitle, \
     "../footprints.csv" skip 1 every 1::63::69 using 2:3 with lines lw 1.5 lc rgb "#0072B2" notitle, \
     "../footprints.csv" skip 1 every 5::64::69 using 2:3 with points pt 9 ps 0.8 lc rgb "#0072B2" notitle, \
     "../footprints.csv" skip 1 every 1::42::48 using 2:3 with lines lw 1.5 lc rgb "#0072B2" notitle, \
     "../footprints.csv" skip 1 every 5::44::48 using 2:3 with points pt 5 ps 0.8 lc rgb "#0072B2" notitle, \
     "../footprints.csv" skip 1 every 1::21::27 using 2:3 with lines lw 1.5 lc rgb "#0072B2" notitle, \
     "../footprints.csv" skip 1 every 5::24::27 using 2:3 with points pt 11 ps 0.8 lc rgb "#0072B2" notitle, \
     "../footprints.csv" skip 1 every 1::49::55 using 2:3 with lines lw 1.5 lc rgb "#0072B2" notitle, \
     "../footprints.csv" skip 1 every 5::53::55 using 2:3 with points pt 13 ps 0.8 lc rgb "#0072B2" notitle, \
     "../footprints.csv" skip 1 every 1::7::13 using 2:3 with lines lw 1.5 lc rgb "#D55E00" notitle, \
     "../footprints.csv" skip 1 every 5::7::13 using 2:3 with points pt 7 ps 0.8 lc rgb "#D55E00" notitle, \
     "../footprints.csv" skip 1 every 1::28::34 using 2:3 with lines lw 1.5 lc rgb "#D55E00" notitle, \
     "../footprints.csv" skip 1 every 5::29::34 using 2:3 with points pt 9 ps 0.8 lc rgb "#D55E00" notitle, \
     "../footprints.csv" skip 1 every 1::35::41 using 2:3 with lines lw 1.5 lc rgb "#D55E00" notitle, \
     "../footprints.csv" skip 1 every 5::37::41 using 2:3 with points pt 5 ps 0.8 lc rgb "#D55E00" notitle, \
     "../footprints.csv" skip 1 every 1::14::20 using 2:3 with lines lw 1.5 lc rgb "#D55E00" notitle, \
     "../footprints.csv" skip 1 every 5::17::20 using 2:3 with points pt 11 ps 0.8 lc rgb "#D55E00" notitle, \
     "../footprints.csv" skip 1 every 1::56::62 using 2:3 with lines lw 1.5 lc rgb "#009E73" notitle, \
     "../footprints.csv" skip 1 every 5::56::62 using 2:3 with points pt 7 ps 0.8 lc rgb "#009E73" notitle, \
     "../footprints.csv" skip 1 every 1::70::76 using 2:3 with lines lw 1.5 lc rgb "#009E73" notitle, \
     "../footprints.csv" skip 1 every 5::71::76 using 2:3 with points pt 9 ps 0.8 lc rgb "#009E73" notitle, \
     "../footprints.csv" skip 1 every 1::77::83 using 2:3 with lines lw 1.5 lc rgb "#009E73" notitle, \
     "../footprints.csv" skip 1 every 5::79::83 using 2:3 with points pt 5 ps 0.8 lc rgb "#009E73" notitle, \
     keyentry with linespoints lc rgb "#0072B2" lw 1.5 pt 7 ps 0.8 title "llama3-8b", \
     keyentry with linespoints lc rgb "#0072B2" lw 1.5 pt 9 ps 0.8 title "mistral-7b", \
     keyentry with linespoints lc rgb "#0072B2" lw 1.5 pt 5 ps 0.8 title "phi3-small", \
     keyentry with linespoints lc rgb "#0072B2" lw 1.5 pt 11 ps 0.8 title "qwen2-7b", \
     keyentry with linespoints lc rgb "#0072B2" lw 1.5 pt 13 ps 0.8 title "phi3-medium", \
     keyentry with linespoints lc rgb "#D55E00" lw 1.5 pt 7 ps 0.8 title "llama3-70b", \
     keyentry with linespoints lc rgb "#D55E00" lw 1.5 pt 9 ps 0.8 title "qwen2-72b", \
     keyentry with linespoints lc rgb "#D55E00" lw 1.5 pt 5 ps 0.8 title "qwen1.5-110b", \
     keyentry with linespoints lc rgb "#D55E00" lw 1.5 pt 11 ps 0.8 title "llama3.1-405b", \
     keyentry with lines lc rgb "#ffffff" title " ", \
     keyentry with linespoints lc rgb "#009E73" lw 1.5 pt 7 ps 0.8 title "phi3.5-moe", \
     keyentry with linespoints lc rgb "#009E73" lw 1.5 pt 9 ps 0.8 title "mixtral-8x7b", \
     keyentry with linespoints lc rgb "#009E73" lw 1.5 pt 5 ps 0.8 title "mixtral-8x22b"
unset key
unset label 2
unset label 3
set label 1 "MLP"
set format y ""
set ytics ("" 10, "" 100, "" 1000)
set lmargin at screen 354.0/680
set rmargin at screen 590.0/680
set label 10 sprintf("910B %.0f", cache_910b) at graph 1.03, first cache_910b left font small
set label 11 sprintf("L40S %.0f", cache_l40s) at graph 1.03, first cache_l40s left font small
set label 12 sprintf("H100 %.0f", cache_h100) at graph 1.03, first cache_h100 left font small
plot "../footprints.csv" skip 1 every 1::0::6 using 2:4 with lines lw 1.5 lc rgb "#0072B2" notitle, \
     "../footprints.csv" skip 1 every 5::0::6 using 2:4 with points pt 7 ps 0.8 lc rgb "#0072B2" notitle, \
     "../footprints.csv" skip 1 every 1::63::69 using 2:4 with lines lw 1.5 lc rgb "#0072B2" notitle, \
     "../footprints.csv" skip 1 every 5::64::69 using 2:4 with points pt 9 ps 0.8 lc rgb "#0072B2" notitle, \
     "../footprints.csv" skip 1 every 1::42::48 using 2:4 with lines lw 1.5 lc rgb "#0072B2" notitle, \
     "../footprints.csv" skip 1 every 5::44::48 using 2:4 with points pt 5 ps 0.8 lc rgb "#0072B2" notitle, \
     "../footprints.csv" skip 1 every 1::21::27 using 2:4 with lines lw 1.5 lc rgb "#0072B2" notitle, \
     "../footprints.csv" skip 1 every 5::24::27 using 2:4 with points pt 11 ps 0.8 lc rgb "#0072B2" notitle, \
     "../footprints.csv" skip 1 every 1::49::55 using 2:4 with lines lw 1.5 lc rgb "#0072B2" notitle, \
     "../footprints.csv" skip 1 every 5::53::55 using 2:4 with points pt 13 ps 0.8 lc rgb "#0072B2" notitle, \
     "../footprints.csv" skip 1 every 1::7::13 using 2:4 with lines lw 1.5 lc rgb "#D55E00" notitle, \
     "../footprints.csv" skip 1 every 5::7::13 using 2:4 with points pt 7 ps 0.8 lc rgb "#D55E00" notitle, \
     "../footprints.csv" skip 1 every 1::28::34 using 2:4 with lines lw 1.5 lc rgb "#D55E00" notitle, \
     "../footprints.csv" skip 1 every 5::29::34 using 2:4 with points pt 9 ps 0.8 lc rgb "#D55E00" notitle, \
     "../footprints.csv" skip 1 every 1::35::41 using 2:4 with lines lw 1.5 lc rgb "#D55E00" notitle, \
     "../footprints.csv" skip 1 every 5::37::41 using 2:4 with points pt 5 ps 0.8 lc rgb "#D55E00" notitle, \
     "../footprints.csv" skip 1 every 1::14::20 using 2:4 with lines lw 1.5 lc rgb "#D55E00" notitle, \
     "../footprints.csv" skip 1 every 5::17::20 using 2:4 with points pt 11 ps 0.8 lc rgb "#D55E00" notitle, \
     "../footprints.csv" skip 1 every 1::56::62 using 2:4 with lines lw 1.5 lc rgb "#009E73" notitle, \
     "../footprints.csv" skip 1 every 5::56::62 using 2:4 with points pt 7 ps 0.8 lc rgb "#009E73" notitle, \
     "../footprints.csv" skip 1 every 1::70::76 using 2:4 with lines lw 1.5 lc rgb "#009E73" notitle, \
     "../footprints.csv" skip 1 every 5::71::76 using 2:4 with points pt 9 ps 0.8 lc rgb "#009E73" notitle, \
     "../footprints.csv" skip 1 every 1::77::83 using 2:4 with lines lw 1.5 lc rgb "#009E73" notitle, \
     "../footprints.csv" skip 1 every 5::79::83 using 2:4 with points pt 5 ps 0.8 lc rgb "#009E73" notitle
unset multiplot
