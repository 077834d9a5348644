# The gain of prefetching under chunked prefill, of: weir sweep scenarios/sweeps/preserve_chunked_prefill.json; from the root:
#   gnuplot docs/sweeps/preserve_chunked_prefill.gp
results = "out/preserve_chunked_prefill/results.csv"  # the points without prefetching come first; cells before status have commas, so that columns are counted from the end
gain(device, model, chunk, prefetch) = sprintf( \
  "<awk -F, 'NR == 1 {for (i = 1; i <= NF; ++i) if ($i == \"median_tpot_ms\") behind = NF - i} /^%d,/ && /,%s,/ && /,%s,/ {split($0, after, \",%s,\"); rate = after[2] + 0; tpot = $(NF - behind); if (/\"none\"/) none[rate] = tpot; else if ((/window_aware/ ? 1 : 0) == %d) print rate, none[rate] / tpot}' %s", \
  chunk, device, model, model, prefetch, results)
set terminal svg size 680,480 enhanced font "Helvetica,15" background "white"
set output "docs/sweeps/preserve_chunked_prefill.svg"
set border 3 lw 1.5 lc rgb "#404040"
set tics nomirror out scale 0.6 textcolor rgb "#202020"
set grid ytics lw 1 lc rgb "#e0e0e0" dt 1
set logscale x
set yrange [0.95:1.8]
unset key
set style line 1 lc rgb "#0072B2" lw 2.5 pt 7 ps 0.6
set style line 2 lc rgb "#0072B2" lw 2.5 dt (18,5) pt 6 ps 0.6
set style line 3 lc rgb "#D55E00" lw 2.5 pt 9 ps 0.6
set style line 4 lc rgb "#D55E00" lw 2.5 dt (18,5) pt 8 ps 0.6
set multiplot
set label 1 "Median TPOT: without prefetching over with" at screen 0.022,0.54 center rotate by 90
set label 2 "Requests a second" at screen 0.425,0.04 center
do for [panel = 0:3] {
  device = word("ascend_910b l2_npu", panel / 2 + 1)
  model = word("llama3.1-8b llama3.1-70b", panel % 2 + 1)
  set lmargin at screen 0.10 + 0.35 * (panel % 2)
  set rmargin at screen 0.40 + 0.35 * (panel % 2)
  set tmargin at screen 0.93 - 0.46 * (panel / 2)
  set bmargin at screen 0.61 - 0.46 * (panel / 2)
  if (panel % 2 == 0) {
    set xrange [3.5:65]
    set xtics (4, 8, 16, 24, 40)
    set ytics ("1" 1, "1.2" 1.2, "1.4" 1.4, "1.6" 1.6)
  } else {
    set xrange [0.9:11.5]
    set xtics (1, 2, 4, 8)
    set ytics ("" 1, "" 1.2, "" 1.4, "" 1.6)
  }
  set label 3 model . ", 8 x " . word("910B L2-NPU", panel / 2 + 1) at graph 0.5,1.09 center
  if (panel == 1) {
    set label 4 "PRESERVE" at graph 1.08,0.85 tc rgb "#0072B2"
    set label 5 "window-aware" at graph 1.08,0.67 tc rgb "#D55E00"
    set label 6 "full: chunks of 2,048" at graph 1.08,0.40
    set label 7 "dashed: of 512" at graph 1.08,0.24
  }
  plot 1 lw 1.5 lc rgb "#404040" notitle, \
       gain(device, model, 2048, 0) with linespoints ls 1 notitle, \
       gain(device, model, 512, 0) with linespoints ls 2 notitle, \
       gain(device, model, 2048, 1) with linespoints ls 3 notitle, \
       gain(device, model, 512, 1) with linespoints ls 4 notitle
  unset label 1
  unset label 2
  unset label 4
  unset label 5
  unset label 6
  unset label 7
}
unset multiplot
