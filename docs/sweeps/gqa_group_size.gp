# The gain of NeuPIMs over NPU-only, of: weir sweep scenarios/sweeps/gqa_group_size.json; from the repository's root:
#   gnuplot docs/sweeps/gqa_group_size.gp
results = "out/gqa_group_size/results.csv"  # rows in pairs: npu_only, then neupims_npu
gain(model, batch) = sprintf("<awk -F, '$1 == \"%s\" && $3 == %d {if ($5 == \"npu_only\") npu = $17; else print $2, $17 / npu}' %s", \
                             model, batch, results)
set terminal svg size 680,300 enhanced font "Helvetica,15" background "white"
set output "docs/sweeps/gqa_group_size.svg"
set border 3 lw 1.5 lc rgb "#404040"
set tics nomirror out scale 0.6 textcolor rgb "#202020"
set grid ytics lw 1 lc rgb "#e0e0e0" dt 1
set logscale x 2
set logscale y
set xrange [200:10500]
set yrange [0.6:5]
set xtics ("256" 256, "1k" 1024, "4k" 4096)
set tmargin at screen 0.90
set bmargin at screen 0.21
unset key
set style line 1 lc rgb "#0072B2" lw 2.5 pt 7 ps 0.7
set style line 2 lc rgb "#D55E00" lw 2.5 dt (18,5) pt 9 ps 0.7
set style line 3 lc rgb "#009E73" lw 2.5 dt (5,4) pt 5 ps 0.7
set style line 4 lc rgb "#CC79A7" lw 2.5 dt (14,4,3,4) pt 13 ps 0.8
set multiplot
set label 1 "NeuPIMs over NPU-only" at screen 0.025,0.555 center rotate by 90
set label 2 "Tokens in a context" at screen 0.47,0.05 center
do for [panel = 0:2] {
  batch = int(word("64 256 512", panel + 1))
  set lmargin at screen 0.10 + 0.26 * panel
  set rmargin at screen 0.33 + 0.26 * panel
  set label 3 sprintf("batch %d", batch) at graph 0.5,1.05 center
  if (panel == 0) {
    set ytics ("0.7" 0.7, "1" 1, "1.5" 1.5, "2" 2, "3" 3, "4" 4)
  } else {
    set ytics ("" 0.7, "" 1, "" 1.5, "" 2, "" 3, "" 4)
    unset label 1
    unset label 2
  }
  if (panel == 2) {
    set label 4 "groups of 1" at graph 1.05,first 4.45 tc rgb "#0072B2"
    set label 5 "of 2" at graph 1.05,first 2.30 tc rgb "#D55E00"
    set label 6 "of 4" at graph 1.05,first 1.23 tc rgb "#009E73"
    set label 7 "of 8" at graph 1.05,first 0.69 tc rgb "#CC79A7"
  }
  plot 1 lw 1.5 lc rgb "#404040" notitle, \
       gain("gqa/llama3.1-70b_group1", batch) with linespoints ls 1 notitle, \
       gain("gqa/llama3.1-70b_group2", batch) with linespoints ls 2 notitle, \
       gain("gqa/llama3.1-70b_group4", batch) with linespoints ls 3 notitle, \
       gain("llama3.1-70b", batch) with linespoints ls 4 notitle
}
unset multiplot
