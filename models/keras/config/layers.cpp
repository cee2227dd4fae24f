#include "models/keras/config/layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <span>

namespace tpuest {
namespace {

// What becomes of a key of the configuration.
enum class Rule {
  kPlain,  // the same value
  kSides,  // [3, 3] is 3
  kWord,   // in lower case
  kInitializer,
  kRegularizer,
  kConstraint,
  kActivation,
  kShape,     // a list without the batch
  kEncoding,  // output_mode, some of whose values had other names
  kLearned,   // what adapt() has learned, or the user has given: it has to be there
  kPassedOver,
};

struct KeyRule {
  std::string_view key;
  Rule rule = Rule::kPlain;
  std::string_view usual = "";  // JSON: the job's default, which is left out
  std::string_view job = "";    // the job's key, where it has another name
};

struct ClassRule {
  std::string_view name;
  std::string_view type;
  bool has_variables = false;  // it may be frozen
  std::span<const KeyRule> keys;
};

constexpr KeyRule kKernelSize = {"kernel_size", Rule::kSides};
constexpr KeyRule kStrides = {"strides", Rule::kSides, "1"};
constexpr KeyRule kPadding = {"padding", Rule::kWord, "\"valid\""};
constexpr KeyRule kDilation = {"dilation_rate", Rule::kSides, "1"};
constexpr KeyRule kActivationKey = {"activation", Rule::kActivation};
constexpr KeyRule kUseBias = {"use_bias", Rule::kPlain, "true"};
constexpr KeyRule kKernelInitializer = {"kernel_initializer", Rule::kInitializer,
                                        "\"glorot_uniform\""};
constexpr KeyRule kBiasInitializer = {"bias_initializer", Rule::kInitializer, "\"zeros\""};
constexpr KeyRule kKernelRegularizer = {"kernel_regularizer", Rule::kRegularizer};
constexpr KeyRule kBiasRegularizer = {"bias_regularizer", Rule::kRegularizer};
constexpr KeyRule kActivityRegularizer = {"activity_regularizer", Rule::kRegularizer};
constexpr KeyRule kKernelConstraint = {"kernel_constraint", Rule::kConstraint};
constexpr KeyRule kBiasConstraint = {"bias_constraint", Rule::kConstraint};
constexpr KeyRule kDepthwiseConstraint = {"depthwise_constraint", Rule::kConstraint};
constexpr KeyRule kDepthwiseInitializer = {"depthwise_initializer", Rule::kInitializer,
                                           "\"glorot_uniform\""};
constexpr KeyRule kDepthwiseRegularizer = {"depthwise_regularizer", Rule::kRegularizer};
constexpr KeyRule kDepthMultiplier = {"depth_multiplier", Rule::kPlain, "1"};

constexpr std::array kDense = {KeyRule{"units"},   kActivationKey,       kUseBias,
                               kKernelInitializer, kBiasInitializer,     kKernelRegularizer,
                               kBiasRegularizer,   kActivityRegularizer, kKernelConstraint,
                               kBiasConstraint};
constexpr std::array kConv = {KeyRule{"filters"},
                              kKernelSize,
                              kStrides,
                              kPadding,
                              kDilation,
                              KeyRule{"groups", Rule::kPlain, "1"},
                              kActivationKey,
                              kUseBias,
                              kKernelInitializer,
                              kBiasInitializer,
                              kKernelRegularizer,
                              kBiasRegularizer,
                              kActivityRegularizer,
                              kKernelConstraint,
                              kBiasConstraint};
constexpr std::array kDepthwise = {kKernelSize,
                                   kStrides,
                                   kPadding,
                                   kDilation,
                                   kDepthMultiplier,
                                   kActivationKey,
                                   kUseBias,
                                   kDepthwiseInitializer,
                                   kBiasInitializer,
                                   kDepthwiseRegularizer,
                                   kBiasRegularizer,
                                   kActivityRegularizer,
                                   kDepthwiseConstraint,
                                   kBiasConstraint};
constexpr std::array kSeparable = {
    KeyRule{"filters"},
    kKernelSize,
    kStrides,
    kPadding,
    kDilation,
    kDepthMultiplier,
    kActivationKey,
    kUseBias,
    kDepthwiseInitializer,
    KeyRule{"pointwise_initializer", Rule::kInitializer, "\"glorot_uniform\""},
    kBiasInitializer,
    kDepthwiseRegularizer,
    KeyRule{"pointwise_regularizer", Rule::kRegularizer},
    kBiasRegularizer,
    kActivityRegularizer,
    kDepthwiseConstraint,
    KeyRule{"pointwise_constraint", Rule::kConstraint},
    kBiasConstraint};
constexpr std::array kPool = {KeyRule{"pool_size", Rule::kSides, "2"},
                              KeyRule{"strides", Rule::kSides}, kPadding};
constexpr std::array kGlobalPool = {KeyRule{"keepdims", Rule::kPlain, "false"}};
constexpr KeyRule kCenter = {"center", Rule::kPlain, "true"};
constexpr KeyRule kScale = {"scale", Rule::kPlain, "true"};
constexpr KeyRule kEpsilon = {"epsilon", Rule::kPlain, "0.001"};
constexpr KeyRule kBeta = {"beta_initializer", Rule::kInitializer, "\"zeros\""};
constexpr KeyRule kGamma = {"gamma_initializer", Rule::kInitializer, "\"ones\""};
constexpr KeyRule kBetaRegularizer = {"beta_regularizer", Rule::kRegularizer};
constexpr KeyRule kGammaRegularizer = {"gamma_regularizer", Rule::kRegularizer};
constexpr KeyRule kBetaConstraint = {"beta_constraint", Rule::kConstraint};
constexpr KeyRule kGammaConstraint = {"gamma_constraint", Rule::kConstraint};
constexpr std::array kBatchNorm = {
    KeyRule{"axis", Rule::kSides, "-1"},
    KeyRule{"synchronized", Rule::kPlain, "false"},
    KeyRule{"momentum", Rule::kPlain, "0.99"},
    kEpsilon,
    kCenter,
    kScale,
    kBeta,
    kGamma,
    KeyRule{"moving_mean_initializer", Rule::kInitializer, "\"zeros\""},
    KeyRule{"moving_variance_initializer", Rule::kInitializer, "\"ones\""},
    kBetaRegularizer,
    kGammaRegularizer,
    kBetaConstraint,
    kGammaConstraint};
constexpr std::array kLayerNorm = {KeyRule{"axis", Rule::kSides, "-1"},
                                   kEpsilon,
                                   kCenter,
                                   kScale,
                                   kBeta,
                                   kGamma,
                                   kBetaRegularizer,
                                   kGammaRegularizer,
                                   kBetaConstraint,
                                   kGammaConstraint};
constexpr std::array kGroupNorm = {KeyRule{"axis", Rule::kSides, "-1"},
                                   KeyRule{"groups", Rule::kPlain, "32"},
                                   kEpsilon,
                                   kCenter,
                                   kScale,
                                   kBeta,
                                   kGamma,
                                   kBetaRegularizer,
                                   kGammaRegularizer,
                                   kBetaConstraint,
                                   kGammaConstraint};
constexpr std::array kUnitNorm = {KeyRule{"axis", Rule::kSides, "-1"}};
constexpr std::array kNormalization = {KeyRule{"axis", Rule::kSides, "-1"}, KeyRule{"mean"},
                                       KeyRule{"variance"},
                                       KeyRule{"invert", Rule::kPlain, "false"}};
constexpr std::array kRescaling = {KeyRule{"scale"}, KeyRule{"offset", Rule::kPlain, "0.0"}};
constexpr std::array kRelu = {KeyRule{"max_value"}, KeyRule{"negative_slope", Rule::kPlain, "0.0"},
                              KeyRule{"threshold", Rule::kPlain, "0.0"}};
constexpr std::array kLeaky = {KeyRule{"alpha", Rule::kPlain, "0.3"},
                               KeyRule{"negative_slope", Rule::kPlain, "0.3", "alpha"}};
constexpr std::array kElu = {KeyRule{"alpha", Rule::kPlain, "1.0"}};
constexpr std::array kPrelu = {KeyRule{"alpha_initializer", Rule::kInitializer, "\"zeros\""},
                               KeyRule{"alpha_regularizer", Rule::kRegularizer},
                               KeyRule{"shared_axes"},
                               KeyRule{"alpha_constraint", Rule::kConstraint}};
constexpr std::array kSoftmax = {KeyRule{"axis", Rule::kSides, "-1"}};
constexpr std::array kThresholded = {KeyRule{"theta", Rule::kPlain, "1.0"}};
constexpr std::array kActivation = {kActivationKey};
constexpr std::array kConcatenate = {KeyRule{"axis", Rule::kPlain, "-1"}};
constexpr std::array kDot = {KeyRule{"axes"}, KeyRule{"normalize", Rule::kPlain, "false"}};
constexpr std::array kZeroPadding = {KeyRule{"padding", Rule::kSides, "1"}};
constexpr std::array kCropping = {KeyRule{"cropping", Rule::kSides}};
constexpr std::array kUpSampling = {KeyRule{"size", Rule::kSides, "2"}};
constexpr std::array kUpSampling2D = {KeyRule{"size", Rule::kSides, "2"},
                                      KeyRule{"interpolation", Rule::kPlain, "\"nearest\""}};
constexpr std::array kTransposed = {KeyRule{"filters"},
                                    kKernelSize,
                                    kStrides,
                                    kPadding,
                                    KeyRule{"output_padding", Rule::kSides},
                                    kDilation,
                                    kActivationKey,
                                    kUseBias,
                                    kKernelInitializer,
                                    kBiasInitializer,
                                    kKernelRegularizer,
                                    kBiasRegularizer,
                                    kActivityRegularizer,
                                    kKernelConstraint,
                                    kBiasConstraint};
constexpr std::array kTransposed3D = {KeyRule{"filters"},
                                      kKernelSize,
                                      kStrides,
                                      kPadding,
                                      KeyRule{"output_padding", Rule::kSides},
                                      kActivationKey,
                                      kUseBias,
                                      kKernelInitializer,
                                      kBiasInitializer,
                                      kKernelRegularizer,
                                      kBiasRegularizer,
                                      kActivityRegularizer,
                                      kKernelConstraint,
                                      kBiasConstraint};
constexpr KeyRule kSeed = {"seed"};
constexpr KeyRule kHeight = {"height"};
constexpr KeyRule kWidth = {"width"};
constexpr KeyRule kInterpolation = {"interpolation", Rule::kPlain, "\"bilinear\""};
constexpr KeyRule kFillMode = {"fill_mode", Rule::kPlain, "\"reflect\""};
constexpr KeyRule kFillValue = {"fill_value", Rule::kPlain, "0.0"};
constexpr std::array kResizing = {kHeight, kWidth, kInterpolation,
                                  KeyRule{"crop_to_aspect_ratio", Rule::kPlain, "false"}};
constexpr std::array kCrop = {kHeight, kWidth};
constexpr std::array kRandomCrop = {kHeight, kWidth, kSeed};
constexpr std::array kFlip = {KeyRule{"mode", Rule::kPlain, "\"horizontal_and_vertical\""}, kSeed};
constexpr std::array kRotation = {KeyRule{"factor"}, kFillMode, kInterpolation, kFillValue, kSeed};
constexpr std::array kMoved = {KeyRule{"height_factor"},
                               KeyRule{"width_factor"},
                               kFillMode,
                               kInterpolation,
                               kFillValue,
                               kSeed};
constexpr std::array kFactor = {KeyRule{"factor"}, kSeed};
constexpr std::array kBrightness = {KeyRule{"factor"}, KeyRule{"value_range"}, kSeed};
constexpr std::array kReshape = {KeyRule{"target_shape", Rule::kShape}};
constexpr std::array kPermute = {KeyRule{"dims"}};
constexpr std::array kRepeat = {KeyRule{"n"}};
constexpr std::array kEmbedding = {
    KeyRule{"input_dim"},
    KeyRule{"output_dim"},
    KeyRule{"embeddings_initializer", Rule::kInitializer, "\"random_uniform\""},
    KeyRule{"embeddings_regularizer", Rule::kRegularizer},
    kActivityRegularizer,
    KeyRule{"embeddings_constraint", Rule::kConstraint}};
constexpr std::array kDropout = {KeyRule{"rate", Rule::kPlain, "0.5"}, KeyRule{"noise_shape"},
                                 kSeed};
constexpr std::array kAlphaDropout = {KeyRule{"rate"}, KeyRule{"noise_shape"}, kSeed};
constexpr std::array kRate = {KeyRule{"rate"}, kSeed};
constexpr std::array kNoise = {KeyRule{"stddev"}, kSeed};
constexpr std::array kLayerScale = {KeyRule{"init_values", Rule::kPlain, "1e-06"}};
constexpr std::array kStochasticDepth = {KeyRule{"drop_path_rate"}};
constexpr std::array kActivityPenalty = {KeyRule{"l1", Rule::kPlain, "0.0"},
                                         KeyRule{"l2", Rule::kPlain, "0.0"}};
constexpr KeyRule kOutputMode = {"output_mode", Rule::kEncoding, "\"int\""};
constexpr KeyRule kVocabulary = {"vocabulary", Rule::kLearned};
constexpr KeyRule kMaskToken = {"mask_token"};
constexpr KeyRule kOovIndices = {"num_oov_indices", Rule::kPlain, "1"};
constexpr KeyRule kMaxTokens = {"max_tokens"};
constexpr KeyRule kPadToMaxTokens = {"pad_to_max_tokens", Rule::kPlain, "false"};
constexpr KeyRule kIdfWeights = {"idf_weights"};
constexpr KeyRule kVocabularySize = {"vocabulary_size", Rule::kPassedOver};
constexpr KeyRule kVocabularyDtype = {"vocabulary_dtype", Rule::kPassedOver};
constexpr std::array kStringLookup = {kVocabulary,
                                      kMaskToken,
                                      KeyRule{"oov_token", Rule::kPlain, "\"[UNK]\""},
                                      kOovIndices,
                                      kOutputMode,
                                      kMaxTokens,
                                      kPadToMaxTokens,
                                      kIdfWeights,
                                      kVocabularySize,
                                      kVocabularyDtype,
                                      KeyRule{"encoding", Rule::kPassedOver}};
constexpr std::array kIntegerLookup = {
    kVocabulary,     kMaskToken,  KeyRule{"oov_token", Rule::kPlain, "-1"},
    kOovIndices,     kOutputMode, kMaxTokens,
    kPadToMaxTokens, kIdfWeights, kVocabularySize,
    kVocabularyDtype};
constexpr std::array kHashing = {KeyRule{"num_bins"}, KeyRule{"mask_value"}, KeyRule{"salt"},
                                 kOutputMode};
constexpr std::array kDiscretization = {KeyRule{"bin_boundaries", Rule::kLearned}, kOutputMode,
                                        KeyRule{"num_bins", Rule::kPassedOver},
                                        KeyRule{"epsilon", Rule::kPassedOver}};
constexpr std::array kCategoryEncoding = {KeyRule{"num_tokens"},
                                          KeyRule{"output_mode", Rule::kEncoding, "\"multi_hot\""}};
constexpr std::array kHashedCrossing = {KeyRule{"num_bins"}, kOutputMode};
constexpr std::array<KeyRule, 0> kNothing = {};

constexpr std::array kLayerRules = {
    ClassRule{"Dense", "Dense", true, kDense},
    ClassRule{"Conv1D", "Conv1D", true, kConv},
    ClassRule{"Conv2D", "Conv2D", true, kConv},
    ClassRule{"Convolution2D", "Conv2D", true, kConv},
    ClassRule{"DepthwiseConv2D", "DepthwiseConv2D", true, kDepthwise},
    ClassRule{"SeparableConv1D", "SeparableConv1D", true, kSeparable},
    ClassRule{"SeparableConv2D", "SeparableConv2D", true, kSeparable},
    ClassRule{"SeparableConvolution2D", "SeparableConv2D", true, kSeparable},
    ClassRule{"MaxPooling1D", "MaxPooling1D", false, kPool},
    ClassRule{"MaxPooling2D", "MaxPooling2D", false, kPool},
    ClassRule{"AveragePooling1D", "AveragePooling1D", false, kPool},
    ClassRule{"AveragePooling2D", "AveragePooling2D", false, kPool},
    ClassRule{"GlobalMaxPooling1D", "GlobalMaxPooling1D", false, kGlobalPool},
    ClassRule{"GlobalMaxPooling2D", "GlobalMaxPooling2D", false, kGlobalPool},
    ClassRule{"GlobalMaxPooling3D", "GlobalMaxPooling3D", false, kGlobalPool},
    ClassRule{"GlobalAveragePooling1D", "GlobalAveragePooling1D", false, kGlobalPool},
    ClassRule{"GlobalAveragePooling2D", "GlobalAveragePooling2D", false, kGlobalPool},
    ClassRule{"GlobalAveragePooling3D", "GlobalAveragePooling3D", false, kGlobalPool},
    ClassRule{"BatchNormalization", "BatchNormalization", true, kBatchNorm},
    ClassRule{"BatchNormalizationV1", "BatchNormalization", true, kBatchNorm},
    ClassRule{"BatchNormalizationV2", "BatchNormalization", true, kBatchNorm},
    ClassRule{"SyncBatchNormalization", "BatchNormalization", true, kBatchNorm},
    ClassRule{"LayerNormalization", "LayerNormalization", true, kLayerNorm},
    ClassRule{"GroupNormalization", "GroupNormalization", true, kGroupNorm},
    ClassRule{"UnitNormalization", "UnitNormalization", false, kUnitNorm},
    ClassRule{"Normalization", "Normalization", false, kNormalization},
    ClassRule{"Rescaling", "Rescaling", false, kRescaling},
    ClassRule{"ReLU", "ReLU", false, kRelu},
    ClassRule{"LeakyReLU", "LeakyReLU", false, kLeaky},
    ClassRule{"ELU", "ELU", false, kElu},
    ClassRule{"PReLU", "PReLU", true, kPrelu},
    ClassRule{"Softmax", "Softmax", false, kSoftmax},
    ClassRule{"ThresholdedReLU", "ThresholdedReLU", false, kThresholded},
    ClassRule{"Activation", "Activation", false, kActivation},
    ClassRule{"Add", "Add", false, kNothing},
    ClassRule{"Subtract", "Subtract", false, kNothing},
    ClassRule{"Multiply", "Multiply", false, kNothing},
    ClassRule{"Average", "Average", false, kNothing},
    ClassRule{"Maximum", "Maximum", false, kNothing},
    ClassRule{"Minimum", "Minimum", false, kNothing},
    ClassRule{"Concatenate", "Concatenate", false, kConcatenate},
    ClassRule{"Dot", "Dot", false, kDot},
    ClassRule{"ZeroPadding1D", "ZeroPadding1D", false, kZeroPadding},
    ClassRule{"ZeroPadding2D", "ZeroPadding2D", false, kZeroPadding},
    ClassRule{"ZeroPadding3D", "ZeroPadding3D", false, kZeroPadding},
    ClassRule{"Cropping1D", "Cropping1D", false, kCropping},
    ClassRule{"Cropping2D", "Cropping2D", false, kCropping},
    ClassRule{"Cropping3D", "Cropping3D", false, kCropping},
    ClassRule{"UpSampling1D", "UpSampling1D", false, kUpSampling},
    ClassRule{"UpSampling2D", "UpSampling2D", false, kUpSampling2D},
    ClassRule{"UpSampling3D", "UpSampling3D", false, kUpSampling},
    ClassRule{"Conv3D", "Conv3D", true, kConv},
    ClassRule{"DepthwiseConv1D", "DepthwiseConv1D", true, kDepthwise},
    ClassRule{"Conv1DTranspose", "Conv1DTranspose", true, kTransposed},
    ClassRule{"Conv2DTranspose", "Conv2DTranspose", true, kTransposed},
    ClassRule{"Conv3DTranspose", "Conv3DTranspose", true, kTransposed3D},
    ClassRule{"MaxPooling3D", "MaxPooling3D", false, kPool},
    ClassRule{"AveragePooling3D", "AveragePooling3D", false, kPool},
    ClassRule{"Resizing", "Resizing", false, kResizing},
    ClassRule{"CenterCrop", "CenterCrop", false, kCrop},
    ClassRule{"RandomCrop", "RandomCrop", false, kRandomCrop},
    ClassRule{"RandomFlip", "RandomFlip", false, kFlip},
    ClassRule{"RandomRotation", "RandomRotation", false, kRotation},
    ClassRule{"RandomTranslation", "RandomTranslation", false, kMoved},
    ClassRule{"RandomZoom", "RandomZoom", false, kMoved},
    ClassRule{"RandomContrast", "RandomContrast", false, kFactor},
    ClassRule{"RandomBrightness", "RandomBrightness", false, kBrightness},
    ClassRule{"Flatten", "Flatten", false, kNothing},
    ClassRule{"Reshape", "Reshape", false, kReshape},
    ClassRule{"Permute", "Permute", false, kPermute},
    ClassRule{"RepeatVector", "RepeatVector", false, kRepeat},
    ClassRule{"Embedding", "Embedding", true, kEmbedding},
    ClassRule{"Dropout", "Dropout", false, kDropout},
    ClassRule{"SpatialDropout1D", "SpatialDropout1D", false, kRate},
    ClassRule{"SpatialDropout2D", "SpatialDropout2D", false, kRate},
    ClassRule{"SpatialDropout3D", "SpatialDropout3D", false, kRate},
    ClassRule{"LayerScale", "LayerScale", true, kLayerScale},
    ClassRule{"StochasticDepth", "StochasticDepth", false, kStochasticDepth},
    ClassRule{"GaussianNoise", "GaussianNoise", false, kNoise},
    ClassRule{"GaussianDropout", "GaussianDropout", false, kRate},
    ClassRule{"AlphaDropout", "AlphaDropout", false, kAlphaDropout},
    ClassRule{"ActivityRegularization", "ActivityRegularization", false, kActivityPenalty},
    ClassRule{"StringLookup", "StringLookup", false, kStringLookup},
    ClassRule{"IntegerLookup", "IntegerLookup", false, kIntegerLookup},
    ClassRule{"Hashing", "Hashing", false, kHashing},
    ClassRule{"Discretization", "Discretization", false, kDiscretization},
    ClassRule{"CategoryEncoding", "CategoryEncoding", false, kCategoryEncoding},
    ClassRule{"HashedCrossing", "HashedCrossing", false, kHashedCrossing},
};

// Keys that say nothing about what a layer computes here, or that are looked at by themselves.
const std::set<std::string, std::less<>> kPassedOver = {"name",
                                                        "trainable",
                                                        "dtype",
                                                        "batch_input_shape",
                                                        "batch_shape",
                                                        "data_format",
                                                        "input_dtype",
                                                        "dynamic",
                                                        "fused",
                                                        "input_shape",
                                                        "input_length",
                                                        "autocast",
                                                        "groups",
                                                        "sparse",
                                                        "ragged",
                                                        "supports_masking",
                                                        "adjustment",
                                                        "quantization_config",
                                                        "renorm_clipping",
                                                        "renorm_momentum",
                                                        "projection_dim",
                                                        "kernel_initializer"};

const ClassRule* FindLayer(std::string_view name) {
  const auto* const found = std::find_if(kLayerRules.begin(), kLayerRules.end(),
                                         [&](const ClassRule& rule) { return rule.name == name; });
  return found == kLayerRules.end() ? nullptr : found;
}

[[noreturn]] void RefuseClass(const std::string& name) {
  static const std::set<std::string, std::less<>> kRecurrent = {
      "LSTM", "GRU", "SimpleRNN", "RNN", "Bidirectional", "ConvLSTM2D", "CuDNNLSTM", "CuDNNGRU"};
  if (name == "Lambda") RefuseKeras("a Lambda layer holds Python code", std::string(kKerasWayOut));
  if (kRecurrent.contains(name)) {
    RefuseKeras(fmt::format("recurrent layers ({}) are not known here", name),
                std::string(kKerasWayOut));
  }
  RefuseKeras(fmt::format("Unknown layer: '{}'.", name), std::string(kKerasWayOut));
}

KerasJson Lower(const KerasJson& value) {
  if (!value.is_string()) return value;
  std::string text = value.get<std::string>();
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return text;
}

// Of a shape with its batch, or one whose unknown dimension is null, the job's: -1.
KerasJson ShapeOfExample(const KerasJson& value) {
  KerasJson shape = KerasJson::array();
  for (const KerasJson& side : value) shape.push_back(side.is_null() ? KerasJson(-1) : side);
  return shape;
}

KerasJson ValueBy(const KeyRule& rule, const KerasJson& given) {
  switch (rule.rule) {
    case Rule::kSides:
      return OneOfEqual(ShortNumbers(given));
    case Rule::kWord:
      return Lower(given);
    case Rule::kInitializer:
      return InitializerOf(given);
    case Rule::kRegularizer:
      return RegularizerOf(given);
    case Rule::kConstraint:
      return ConstraintOf(given);
    case Rule::kShape:
      return ShapeOfExample(given);
    case Rule::kEncoding:
      return given == "binary" ? KerasJson("multi_hot") : given == "tf-idf" ? "tf_idf" : given;
    case Rule::kActivation:
    case Rule::kLearned:
    case Rule::kPassedOver:
    case Rule::kPlain:
      break;
  }
  return ShortNumbers(given);
}

void CheckLayerOptions(const KerasJson& config) {
  if (WordOf(config, "data_format") == "channels_first") {
    RefuseKeras("data_format is channels_first",
                "save the model with channels last: tf.keras.backend.set_image_data_format");
  }
  const std::string policy = PolicyOf(MemberOf(config, "dtype"));
  if (policy == "float16" || policy == "mixed_float16" || policy == "float64") {
    RefuseKeras(fmt::format("its dtype is {}", policy),
                "float32, or mixed_bfloat16: the job's precision: bfloat16");
  }
  if (!MemberOf(config, "lora_rank").is_null()) {
    RefuseKeras("it has a LoRA (lora_rank)", "save the model with the adapters merged");
  }
  const bool is_quantized =
      WordOf(MemberOf(config, "dtype"), "class_name").starts_with("Quantized");
  if (is_quantized) RefuseKeras("it is quantized", "save the model before quantization");
  if (MemberOf(config, "mask_zero") == true) {
    RefuseKeras("it masks zeros (mask_zero)", "mask_zero=False");
  }
}

// Keys with a value that means something and that no rule knows.
void CheckUnknownKeys(const ClassRule& rule, const KerasJson& config) {
  for (const auto& [key, value] : config.items()) {
    if (kPassedOver.contains(key) || key == "lora_alpha") continue;
    const bool known = std::any_of(rule.keys.begin(), rule.keys.end(),
                                   [&key = key](const KeyRule& k) { return k.key == key; });
    const bool says_nothing =
        OneOfEqual(value) == 1 || value.is_null() || value == false || value == 0 || value == 0.0;
    const bool is_usual = key == "value_range" && value == KerasJson({0, 255});
    if (known || says_nothing || is_usual) continue;
    if (key == "activity_regularizer") {
      if (RegularizerOf(value).is_null()) continue;
      RefuseKeras("it has an activity_regularizer", "an ActivityRegularization layer behind it");
    }
    RefuseKeras(fmt::format("its '{}' is not known here: {}", key, value.dump()));
  }
}

void CheckStatistics(const ClassRule& rule, const KerasJson& config) {
  if (rule.type != "BatchNormalization") return;
  const KerasJson axis = Unwrapped(MemberOf(config, "axis"));
  if (axis.is_array() && axis.size() > 1) {
    RefuseKeras(fmt::format("its axis is {}", axis.dump()), "statistics of one axis");
  }
  if (MemberOf(config, "renorm") == true) RefuseKeras("it renormalizes (renorm)");
}

}  // namespace

KerasLayerSections KerasLayerOf(const std::string& class_name, const KerasJson& config,
                                bool is_keras3) {
  const ClassRule* const rule = FindLayer(class_name);
  if (rule == nullptr) RefuseClass(class_name);
  CheckLayerOptions(config);
  CheckUnknownKeys(*rule, config);
  CheckStatistics(*rule, config);
  const std::string name = WordOf(config, "name");
  KerasJson section = {{"type", rule->type}, {"name", name}};
  std::string activation;
  for (const KeyRule& key : rule->keys) {
    if (key.rule == Rule::kPassedOver) continue;
    const KerasJson given = Unwrapped(MemberOf(config, key.key));
    if (given.is_null() && key.rule == Rule::kLearned) {
      RefuseKeras(
          fmt::format("its {} is not in the file", key.key),
          "a layer that has learned from data (adapt) is whole in model.save('NAME.keras')");
    }
    const bool is_named_none = rule->type == "Normalization" && key.key == "axis" &&
                               given.is_null() && config.contains("axis");
    if (is_named_none) section["axis"] = nullptr;  // one mean for all
    if (given.is_null()) continue;
    if (key.rule == Rule::kActivation) {
      activation = FunctionNameOf(given, "activation");
      continue;
    }
    KerasJson value = ValueBy(key, given);
    if (value.is_null() || (!key.usual.empty() && value == KerasJson::parse(key.usual))) continue;
    // Keras takes the path of a vocabulary in the place of its entries.
    const bool is_path = key.key == "vocabulary" && value.is_string();
    section[std::string(is_path           ? "vocabulary_file"
                        : key.job.empty() ? key.key
                                          : key.job)] = std::move(value);
  }
  if (rule->has_variables && MemberOf(config, "trainable") == false) section["trainable"] = false;
  if (class_name == "SyncBatchNormalization") section["synchronized"] = true;
  if (rule->type == "Activation") return ActivationSections(activation, name, is_keras3);
  if (activation.empty() || activation == "linear") return {section};
  const bool is_jobs = IsJobActivation(activation) || (activation == "hard_sigmoid" && !is_keras3);
  if (is_jobs) {
    section["activation"] = activation;
    return {section};
  }
  // The penalty is on what the activation gives.
  const KerasJson penalty = MemberOf(section, "activity_regularizer");
  section.erase("activity_regularizer");
  KerasLayerSections sections = {section};
  for (KerasJson& part : ActivationSections(activation, name + "/" + activation, is_keras3)) {
    sections.push_back(std::move(part));
  }
  if (!penalty.is_null()) {
    KerasJson last = {{"type", "ActivityRegularization"}};
    for (const char* const factor : {"l1", "l2"}) {
      if (penalty.contains(factor)) last[factor] = penalty[factor];
    }
    last["name"] = name + "/activity_regularizer";
    sections.push_back(std::move(last));
  }
  return sections;
}

bool IsKerasModel(std::string_view class_name) {
  return class_name == "Functional" || class_name == "Sequential" || class_name == "Model";
}

}  // namespace tpuest
