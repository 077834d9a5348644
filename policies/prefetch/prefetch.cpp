#include "policies/prefetch/prefetch.h"

namespace weir {

// One factory per file; add yours here and in the table, nowhere else in C++.
std::shared_ptr<const PrefetchPolicy> make_no_prefetch(Params& params);
std::shared_ptr<const PrefetchPolicy> make_preserve(Params& params);
std::shared_ptr<const PrefetchPolicy> make_prefetch_oracle(Params& params);

const Catalog<PrefetchPolicy>& prefetch_policies() {
  static const Catalog<PrefetchPolicy> table = {
      {"none", "every operator reads its own weights and KV cache from memory when it runs", make_no_prefetch,
       by_default},
      {"preserve",
       "beside a communication, what follows it is fetched into the cache (PRESERVE, Algorithm 1)",
       make_preserve},
      {"oracle",
       "a bound: the set of whole operators that makes the step shortest, by trying all (12 at most)",
       make_prefetch_oracle},
  };
  return table;
}

}  // namespace weir
