# The gain of prefetching on H200, of: weir sweep scenarios/sweeps/preserve_h200_l2.json; from the repository's root:
#   gnuplot docs/sweeps/preserve_h200_l2.gp
results = "out/preserve_h200_l2/results.csv"  # for every L2 the point without prefetching comes first
gain(x, where, prefetch) = sprintf( \
  "<awk -F, 'NR == 1 {for (i = 1; i <= NF; ++i) if ($i == \"median_tpot_ms\") behind = NF - i; next} %s {tpot = $(NF - behind); if (/\"none\"/) none = tpot; else if ((/window_aware/ ? 1 : 0) == %d) print $%d, none / tpot}' %s", \
  where, prefetch, x, results)
of_size(mb, prefetch) = gain(1, sprintf("$2 == %s && $3 == 9700", mb), prefetch)
of_speed(gb_per_s, prefetch) = gain(2, sprintf("$1 == 4 && $3 == %d", gb_per_s), prefetch)
set terminal svg size 680,320 enhanced font "Helvetica,15" background "white"
set output "docs/sweeps/preserve_h200_l2.svg"
set border 3 lw 1.5 lc rgb "#404040"
set tics nomirror out scale 0.6 textcolor rgb "#202020"
set grid ytics lw 1 lc rgb "#e0e0e0" dt 1
set yrange [0.92:1.36]
set tmargin at screen 0.88
set bmargin at screen 0.20
unset key
set style line 1 lc rgb "#0072B2" lw 2.5 pt 7 ps 0.6
set style line 2 lc rgb "#D55E00" lw 2.5 pt 9 ps 0.6
set style line 3 lc rgb "#009E73" lw 2.5 pt 5 ps 0.6
set style line 4 lc rgb "#CC79A7" lw 2.5 pt 13 ps 0.7
set multiplot
set lmargin at screen 0.10
set rmargin at screen 0.44
set xrange [0.5:10.5]
set ytics ("1" 1, "1.1" 1.1, "1.2" 1.2, "1.3" 1.3)
set label 1 "Median TPOT: without over with" at screen 0.025,0.54 center rotate by 90
set label 2 "Requests a second" at graph 0.5,-0.22 center
set label 3 "by size, at 9.7 TB/s" at graph 0.5,1.07 center
set label 4 "200" at 6.7,1.285 tc rgb "#009E73"
set label 5 ", 400 MB" at 7.65,1.285 tc rgb "#CC79A7"
set label 6 "100 MB" at 7.9,1.03 tc rgb "#D55E00"
set label 7 "50 MiB (as it is)" at 2.0,0.965 tc rgb "#0072B2"
plot 1 lw 1.5 lc rgb "#404040" notitle, \
     of_size("52.4288", 0) with linespoints ls 1 notitle, \
     of_size("100", 0) with linespoints ls 2 notitle, \
     of_size("200", 0) with linespoints ls 3 notitle, \
     of_size("400", 0) with linespoints ls 4 dt (18,5) notitle
unset label
set lmargin at screen 0.50
set rmargin at screen 0.82
set logscale x 2
set xrange [46:440]
set xtics ("50" 52.4288, "100" 100, "200" 200, "400" 400)
set ytics ("" 1, "" 1.1, "" 1.2, "" 1.3)
set label 2 "MB of L2" at graph 0.5,-0.22 center
set label 3 "by bandwidth, at 4/s" at graph 0.5,1.07 center
set label 4 "PRESERVE" at graph 1.03,first 1.33
set label 5 "19.4 TB/s" at graph 1.03,first 1.297 tc rgb "#009E73"
set label 6 "9.7 (as it is)" at graph 1.03,first 1.26 tc rgb "#0072B2"
set label 7 "4.85" at graph 1.03,first 1.045 tc rgb "#D55E00"
set label 8 "window-aware" at graph 1.03,first 1.15
set label 9 "dashed" at graph 1.03,first 1.115
plot 1 lw 1.5 lc rgb "#404040" notitle, \
     of_speed(19400, 0) with linespoints ls 3 notitle, \
     of_speed(9700, 0) with linespoints ls 1 notitle, \
     of_speed(4850, 0) with linespoints ls 2 notitle, \
     of_speed(19400, 1) with linespoints ls 3 dt (18,5) notitle, \
     of_speed(9700, 1) with linespoints ls 1 dt (18,5) notitle, \
     of_speed(4850, 1) with linespoints ls 2 dt (18,5) notitle
unset multiplot
