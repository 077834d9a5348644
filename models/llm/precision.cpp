#include "models/llm/precision.h"

#include <fmt/format.h>

#include <algorithm>

#include "models/llm/config/quantization.h"

namespace weir {
namespace {

using Words = std::vector<std::string>;

// int4 is for weights: they are expanded before they are multiplied.
const Words stored_types = {"fp32", "bf16", "fp16", "fp8", "int8", "int4", "fp8_block", "fp4", "mxfp4"};
const Words multiplied_types = {"fp32", "bf16", "fp16", "fp8", "int8", "fp8_block", "fp4", "mxfp4"};
const Words cached_types = {"fp32", "bf16", "fp16", "fp8", "int8"};

Words or_auto(Words words) {
  words.insert(words.begin(), "auto");
  return words;
}

class Reader {
 public:
  Reader(Params& params, const Quantization* checkpoint)
      : params_(params), checkpoint_(checkpoint && checkpoint->types ? &*checkpoint->types : nullptr) {
    if (checkpoint_) made_ = *checkpoint_;
  }

  Precision read() {
    const bool by_group = checkpoint_ || any_group_is_given();
    group_sizes();
    weights(by_group);
    multiplied(by_group);
    made_.kv_cache = *type_of({"kv_cache", "Type of the KV cache; fewer bits hold more requests."},
                              cached_types, to_string(made_.kv_cache));
    made_.between = type_of(
        {"hidden",
         "Type of what lies between GEMMs: hidden states, payloads of all-reduces, and on an L2 NPU what "
         "attention works in. auto: as activations, but 16 bits at least, which is what vLLM's 8-bit GEMMs "
         "write."},
        {"auto", "fp32", "bf16", "fp16", "fp8", "int8"}, "auto");
    experts(by_group);
    for (const auto& [group, key] : keys) one_group(group, key);
    check_group_sizes();
    return made_;
  }

 private:
  static constexpr std::array<std::pair<MatrixGroup, Key>, 5> keys = {{
      {MatrixGroup::attention,
       {"attention", "Type of the weights of attention's projections; auto: as weights, or the checkpoint."}},
      {MatrixGroup::mlp, {"mlp", "The same of dense MLPs."}},
      {MatrixGroup::shared_expert, {"shared_expert", "The same of shared experts."}},
      {MatrixGroup::head, {"head", "The same of the LM head; auto: 16 bits, or the checkpoint."}},
      {MatrixGroup::embedding, {"embedding", "The same of the embedding; auto: 16 bits."}},
  }};

  bool any_group_is_given() const {
    const auto said = [&](const char* key) { return params_.has(key); };
    bool any = said("experts");
    for (const auto& [group, key] : keys) any = any || said(key.name);
    return any;
  }

  // Nothing: auto.
  std::optional<DataType> type_of(Key key, const Words& known, const std::string& usual) {
    const std::string word = params_.choice(key, known, usual);
    if (word == "auto") return {};
    return data_type_named(word).value_or(DataType::bf16);  // the problem was reported
  }

  // With the checkpoint's groups where it has such numbers too.
  std::optional<StoredType> stored(Key key, const std::string& usual) {
    const std::optional<DataType> type = type_of(key, or_auto(stored_types), usual);
    if (!type) return {};
    if (takes_groups(*type) && group_size_ > 0) {
      regrouped_ = true;
      return StoredType(*type, group_size_, zeros_);
    }
    StoredType stored = *type;
    if (checkpoint_)
      for (std::size_t i = 0; i < matrix_groups; ++i)
        if (const StoredType its = checkpoint_->of(static_cast<MatrixGroup>(i)).weights; its.number == *type)
          stored = its;
    return stored;
  }

  void weights(bool by_group) {
    const auto type = stored({"weights",
                              "Type of the linear layers' weights; fewer bits read faster. fp8 is scaled by "
                              "tensor, fp8_block by blocks of 128; fp4 is NVFP4. auto: as the checkpoint's "
                              "quantization_config says, without one bf16."},
                             checkpoint_ ? "auto" : "bf16");
    if (!type) return;
    made_ = {.weights = *type, .kv_cache = made_.kv_cache};
    if (by_group) made_.activations = multiplied_in(*type);
  }

  void multiplied(bool by_group) {
    said_activations_ = type_of(
        {"activations",
         "Type in which GEMMs multiply: decides the tensor-core peak they run at. auto: as the format of "
         "weights is made for."},
        or_auto(multiplied_types), by_group ? "auto" : "bf16");
    if (!said_activations_) {
      if (!by_group) made_.activations = multiplied_in(made_.weights);
      return;
    }
    made_.activations = *said_activations_;
    for (auto& types : made_.groups)
      if (types && quantised(types->weights)) types->activations = *said_activations_;
    if (made_.expert_weights && quantised(*made_.expert_weights)) made_.expert_activations.reset();
  }

  // Engines do not quantise what goes into a matrix that is not quantised itself.
  DataType activations_of(const StoredType& weights) const {
    if (!quantised(weights)) return made_.unquantised();
    return said_activations_.value_or(multiplied_in(weights));
  }

  void experts(bool by_group) {
    const auto older =
        stored({"expert_weights",
                "Type of the routed experts' weights; auto: as weights, or the checkpoint. gpt-oss has mxfp4 "
                "experts in a bf16 model."},
               "auto");
    const auto type = stored({"experts", "The same; activations are auto's unless said."}, "auto");
    if (older && type && *older != *type)
      params_.fail("experts", fmt::format("says {} where expert_weights, its older name, says {}",
                                          to_string(*type), to_string(*older)));
    if (older || type) {
      made_.expert_weights = type ? *type : *older;
      made_.by_layer &= static_cast<GroupSet>(~only(MatrixGroup::experts));
      made_.expert_activations.reset();
      if (by_group) made_.expert_activations = activations_of(*made_.expert_weights);
    }
    const auto multiplied =
        type_of({"expert_activations", "Type in which routed experts multiply; auto: as activations."},
                or_auto(multiplied_types), "auto");
    if (multiplied) made_.expert_activations = multiplied;
  }

  void one_group(MatrixGroup group, const Key& key) {
    const auto type = stored(key, "auto");
    if (!type) return;
    made_.groups[static_cast<std::size_t>(group)] = {*type, activations_of(*type)};
    made_.by_layer &= static_cast<GroupSet>(~only(group));
  }

  // Both keys hold for the types that this scenario says, not for the checkpoint's.
  void group_sizes() {
    const auto size = params_.integer_or_null({"group_size",
                                               "Weights to a 16-bit scale, of the int4 and int8 weights said "
                                               "here. null: as the checkpoint; without "
                                               "one scales are left out."},
                                              {1, 1 << 16});
    zeros_ = params_.flag(
        {"zero_points", "Groups of integers have a zero point too, as wide as a weight (AWQ, GPTQ)."}, false);
    if (size) group_size_ = static_cast<int>(*size);
    if (zeros_ && !size) params_.fail("zero_points", "needs a group_size: a zero point is a group's");
  }

  void check_group_sizes() {
    if (group_size_ > 0 && !regrouped_)
      params_.fail("group_size",
                   "no weights here are said to be int4 or int8: the others have groups of their own");
  }

  Params& params_;
  const Precision* checkpoint_;
  Precision made_;
  std::optional<DataType> said_activations_;
  int group_size_ = 0;  // 0: none is said
  bool zeros_ = false, regrouped_ = false;
};

}  // namespace

const char* name_of(MatrixGroup group) {
  static constexpr std::array<const char*, matrix_groups> names = {"attention",     "mlp",  "experts",
                                                                   "shared_expert", "head", "embedding"};
  return names[static_cast<std::size_t>(group)];
}

Precision Precision::from(Params& params, const Quantization* checkpoint) {
  if (checkpoint && !checkpoint->types && !params.has("weights") && !params.has("experts") &&
      !params.has("expert_weights"))
    params.fail("weights",
                fmt::format("expected a type: the checkpoint is quantised by {}, which is not read "
                            "(known: {})",
                            checkpoint->method, quantization_methods()));
  return Reader(params, checkpoint).read();
}

MatrixTypes Precision::of(MatrixGroup group, GroupSet wide) const {
  const MatrixTypes unquantised_types = {unquantised_weights(), unquantised()};
  if ((by_layer & wide & only(group)) != 0) return unquantised_types;
  if (group == MatrixGroup::experts)
    return {expert_weights.value_or(weights), expert_activations.value_or(activations)};
  if (const auto& own = groups[static_cast<std::size_t>(group)]) return *own;
  if (group == MatrixGroup::head || group == MatrixGroup::embedding) return unquantised_types;
  return {weights, activations};
}

// vLLM's 8-bit GEMMs write the model's own 16-bit type (Fp8LinearMethod: out_dtype =
// torch.get_default_dtype()), and quantise their input on the way in.
DataType Precision::unquantised() const {
  if (!quantised(activations)) return activations;
  return quantised(weights) ? DataType::bf16 : weights.number;
}

DataType Precision::hidden() const {
  return between.value_or(unquantised());
}

// vLLM quantises linear layers and experts only: Fp8Config.get_quant_method gives ParallelLMHead and the
// embedding none, and models build their router with quant_config=None ("Gate always runs at half / full
// precision for now"). TensorRT-LLM's checkpoints likewise exclude lm_head and routers.
DataType Precision::unquantised_weights() const {
  return quantised(weights) ? unquantised() : weights.number;
}

}  // namespace weir
