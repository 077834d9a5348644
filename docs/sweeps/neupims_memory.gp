# How much each number of the PIM's memory matters, of: weir sweep scenarios/sweeps/neupims_memory.json; from the root:
#   gnuplot docs/sweeps/neupims_memory.gp
results = "out/neupims_memory/results.csv"  # columns 1 to 10: the memory's numbers; 11: the batch
# Of the points at one batch where column `at` alone is another (1 is tCCD_L, 3 tFAW, 4 COMP, 5 banks, 7 row bytes), or none: how many
# times its base, and the throughput over that of the first point of the batch.
line(at, base, batch) = sprintf( \
  "<awk -F, 'NR == 1 {for (i = 1; i <= NF; ++i) if ($i == \"output_throughput\") tokens = i; next} $11 != %d {next} !first {first = $tokens} {split(\"1 3 4 5 7\", others, \" \"); split(\"2 30 2 32 1024\", bases, \" \"); moved = 0; for (i = 1; i <= 5; ++i) if (others[i] != %d && $(others[i]) != bases[i]) moved = 1; if (!moved) print $%d / %d, $tokens / first}' %s | sort -g", \
  batch, at, at, base, results)
set terminal svg size 680,330 enhanced font "Helvetica,15" background "white"
set output "docs/sweeps/neupims_memory.svg"
set border 3 lw 1.5 lc rgb "#404040"
set tics nomirror out scale 0.6 textcolor rgb "#202020"
set grid ytics lw 1 lc rgb "#e0e0e0" dt 1
set logscale x 2
set xrange [0.22:9]
set yrange [0.3:1.15]
set xtics ("1/4" 0.25, "1/2" 0.5, "1" 1, "2" 2, "4" 4, "8" 8)
set ytics 0.2
set style line 1 lc rgb "#0072B2" lw 2.5 pt 7 ps 0.6
set style line 2 lc rgb "#D55E00" lw 2.5 pt 9 ps 0.7
set style line 3 lc rgb "#009E73" lw 2.5 pt 5 ps 0.6
set style line 4 lc rgb "#CC79A7" lw 2.5 pt 13 ps 0.7
set style line 5 lc rgb "#707070" lw 2.5 pt 11 ps 0.7
set multiplot
set label 1 "Output tokens/s over those of HBM2" at screen 0.022,0.55 center rotate by 90
set label 2 "Number over HBM2's" at screen 0.41,0.05 center
unset key
do for [panel = 0:1] {
  set lmargin at screen 0.10 + 0.34 * panel
  set rmargin at screen 0.40 + 0.34 * panel
  set tmargin at screen 0.90
  set bmargin at screen 0.20
  if (panel == 1) {
    set format y ""
    set key at screen 0.93,0.80 right samplen 1.5 spacing 1.2
  }
  batch = panel ? 512 : 64
  set label 3 sprintf("batch %d", batch) at graph 0.5,1.06 center
  plot line(3, 30, batch) using 1:2 with linespoints ls 1 title "tFAW", \
       line(7, 1024, batch) using 1:2 with linespoints ls 2 title "row", \
       line(4, 2, batch) using 1:2 with linespoints ls 3 title "COMP", \
       line(5, 32, batch) using 1:2 with linespoints ls 4 title "banks", \
       line(1, 2, batch) using 1:2 with linespoints ls 5 title "tCCD\\_L"
}
unset multiplot
