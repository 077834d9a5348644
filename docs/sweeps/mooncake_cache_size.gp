# What caches of different sizes find of Mooncake's trace; the numbers: mooncake_cache_size.py; from the repository's root:
#   gnuplot docs/sweeps/mooncake_cache_size.gp
found = "docs/sweeps/mooncake_cache_size.csv"
set datafile separator ","
stats found using (100 * $3) skip 1 nooutput  # the largest cache is as good as an endless one
first_block = 4.254                            # 512 tokens of 12,030 prompts, over all prompts' tokens
set terminal svg size 680,320 enhanced font "Helvetica,15" background "white"
set output "docs/sweeps/mooncake_cache_size.svg"
set border 3 lw 1.5 lc rgb "#404040"
set tics nomirror out scale 0.6 textcolor rgb "#202020"
set grid ytics lw 1 lc rgb "#e0e0e0" dt 1
set logscale x
set xrange [0.45:240]
set yrange [0:42]
set xtics ("0.5" 0.5, "1" 1, "2" 2, "5" 5, "10" 10, "20" 20, "50" 50, "100" 100, "200" 200)
set ytics 10
set lmargin at screen 0.11
set rmargin at screen 0.97
set tmargin at screen 0.95
set bmargin at screen 0.22
set xlabel "Million tokens that the KV cache has room for" offset 0,0.7
set ylabel "% of prompt tokens found" offset 1,0
unset key
set style line 1 lc rgb "#0072B2" lw 2.5 pt 7 ps 0.6
set style line 2 lc rgb "#D55E00" lw 2.5 dt (18,5) pt 9 ps 0.7
set label 1 sprintf("endless: %.1f %%", STATS_max) at 0.5,39.2 tc rgb "#404040"
set label 2 sprintf("first block of all prompts: %.1f %%", first_block) at 0.5,2.2 tc rgb "#404040"
set label 3 "radix\\_tree" at 2.9,17.2 right tc rgb "#D55E00"
set label 4 "blocks" at 5.1,16.6 left tc rgb "#0072B2"
plot STATS_max lw 1.5 dt (5,4) lc rgb "#707070" notitle, \
     first_block lw 1.5 dt (5,4) lc rgb "#707070" notitle, \
     found using 2:(100 * $4) skip 1 with linespoints ls 2 notitle, \
     found using 2:(100 * $3) skip 1 with linespoints ls 1 notitle
