# Throughput of an area against L2, of: weir sweep scenarios/sweeps/preserve_gqa_mla.json; from the repository's root:
#   gnuplot docs/sweeps/preserve_gqa_mla.gp
results = "out/preserve_gqa_mla/results.csv"
# Over that of the smallest L2 without prefetching, which comes first.
density(model, context, batch, prefetch) = sprintf( \
  "<awk -F, 'NR == 1 {for (i = 1; i <= NF; ++i) if ($i == \"tokens_per_s_per_mm2\") behind = NF - i} $1 == \"%s\" && $2 == %d && $6 == 8 && $7 == %d {if (!first) first = $(NF - behind); if ($4 == \"%s\") print $3, $(NF - behind) / first}' %s", \
  model, context, batch, prefetch, results)
gqa = "llama3.1-70b"
mla = "mla/llama3.1-70b_mla_sized_kv"
set terminal svg size 680,480 enhanced font "Helvetica,15" background "white"
set output "docs/sweeps/preserve_gqa_mla.svg"
set border 3 lw 1.5 lc rgb "#404040"
set tics nomirror out scale 0.6 textcolor rgb "#202020"
set grid ytics lw 1 lc rgb "#e0e0e0" dt 1
set xrange [0:164]
set yrange [0.85:1.7]
unset key
set style line 1 lc rgb "#0072B2" lw 2.5
set style line 3 lc rgb "#D55E00" lw 2.5
set style line 2 lc rgb "#404040" lw 1.5 dt (6,5)
set multiplot
set label 1 "Tokens/s/mm2 over 8 MB without prefetching" at screen 0.022,0.53 center rotate by 90
set label 2 "MB of L2" at screen 0.44,0.035 center
do for [panel = 0:3] {
  batch = int(word("16 64", panel % 2 + 1))
  context = int(word("8192 32768", panel / 2 + 1))
  set lmargin at screen 0.09 + 0.35 * (panel % 2)
  set rmargin at screen 0.40 + 0.35 * (panel % 2)
  set tmargin at screen 0.92 - 0.42 * (panel / 2)
  set bmargin at screen 0.58 - 0.42 * (panel / 2)
  if (panel % 2) { set ytics ("" 1, "" 1.2, "" 1.4, "" 1.6) } else { set ytics ("1" 1, "1.2" 1.2, "1.4" 1.4, "1.6" 1.6) }
  if (panel / 2) { set xtics 40 } else { set xtics ("" 0, "" 40, "" 80, "" 120, "" 160) }
  set label 3 sprintf("batch %d, %dk tokens", batch, context / 1024) at graph 0.5,1.08 center
  if (panel == 1) {
    set label 4 "GQA, prefetching" at graph 1.04,0.85 tc rgb "#0072B2"
    set label 5 "MLA-sized KV," at graph 1.04,0.62 tc rgb "#D55E00"
    set label 6 "prefetching" at graph 1.04,0.48 tc rgb "#D55E00"
    set label 7 "without" at graph 1.04,0.25 tc rgb "#404040"
  }
  plot density(gqa, context, batch, "none") with lines ls 2 notitle, \
       density(gqa, context, batch, "preserve") with lines ls 1 notitle, \
       density(mla, context, batch, "preserve") with lines ls 3 notitle
  unset label 1
  unset label 2
  unset label 4
  unset label 5
  unset label 6
  unset label 7
}
unset multiplot
