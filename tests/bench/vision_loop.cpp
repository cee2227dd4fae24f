// The bare loop over oneDNN's primitives of a network's training step, the baseline of P14 and P15:
// forward and backward of every layer, without loss, update, input or copies. All memory of a step
// is allocated before. Each thread has its own share of the batch.
//   build/release/tests/bench/vision_loop ResNet50|MobileNetV2 SIDE BATCH float32|bfloat16
//   [THREADS]
// Prints one line of JSON: images/s of the best step in the better of two layouts, ignoring layouts
// for which oneDNN has only its reference, and the time per kind of layer, in microseconds per
// image and thread.

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <dnnl.hpp>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

namespace tpuest {
namespace {

using dnnl::memory;
using Args = std::unordered_map<int, memory>;

double Seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Setting {
  std::string network;
  int64_t side = 0;
  int64_t batch = 0;  // per thread
  memory::data_type type = memory::data_type::f32;
  memory::format_tag layout = memory::format_tag::nhwc;
};

// A layer's result, and its gradient once a backward op has written it.
struct Value {
  memory data;
  memory grad;
  bool has_grad = false;
};

struct Window {
  int64_t size = 1;
  int64_t stride = 1;
  int64_t before = 0;
  int64_t after = 0;
  int64_t groups = 1;
};

// One thread's step.
class Loop {
 public:
  explicit Loop(Setting setting) : set_(std::move(setting)) {
    Value* x = New(Image(3, set_.side, memory::format_tag::nhwc));
    images_ = x;
    Dense(Pooled(set_.network == "ResNet50" ? ResNet50(x) : MobileNetV2(x)));
    while (!backward_.empty()) {
      backward_.back()();
      backward_.pop_back();
    }
  }

  // Whether oneDNN has only its reference for a layer in this layout, which would take minutes.
  [[nodiscard]] bool falls_back() const { return falls_back_; }

  void Run() {
    for (Op& op : ops_) op.primitive.execute(stream_, op.args);
  }

  // Microseconds per image, by kind.
  std::map<std::string, double> Profile() {
    std::map<std::string, double> times;
    for (Op& op : ops_) {
      const double begin = Seconds();
      op.primitive.execute(stream_, op.args);
      times[op.kind] += (Seconds() - begin) / static_cast<double>(set_.batch) * 1e6;
    }
    return times;
  }

 private:
  struct Op {
    std::string kind;
    dnnl::primitive primitive;
    Args args;
  };

  // ---- The networks, as tf.keras.applications has them

  Value* Normalized(Value* x, int64_t filters, const Window& window, bool relu) {
    return Norm(Conv(x, filters, window), relu);
  }

  Value* ResNet50(Value* x) {
    x = MaxPool(Normalized(x, 64, {7, 2, 3, 3}, true), {3, 2, 1, 1});
    int64_t filters = 64;
    for (const int count : {3, 4, 6, 3}) {
      for (int i = 0; i < count; ++i) {
        const int64_t stride = i == 0 && filters > 64 ? 2 : 1;
        Value* const side = i == 0 ? Normalized(x, 4 * filters, {1, stride}, false) : x;
        Value* y = Normalized(x, filters, {1, stride}, true);
        y = Normalized(y, filters, {3, 1, 1, 1}, true);
        x = Relu(Add(Normalized(y, 4 * filters, {}, false), side));
      }
      filters *= 2;
    }
    return x;
  }

  static Window Window3(int64_t side, int64_t stride, int64_t groups) {
    const int64_t before = stride == 2 && side % 2 == 0 ? 0 : 1;
    return {3, stride, before, 1, groups};
  }

  Value* MobileNetV2(Value* x) {
    struct Stage {
      int64_t expansion, filters, count, stride;
    };
    x = Normalized(x, 32, Window3(set_.side, 2, 1), true);
    for (const Stage& stage :
         {Stage{1, 16, 1, 1}, Stage{6, 24, 2, 2}, Stage{6, 32, 3, 2}, Stage{6, 64, 4, 2},
          Stage{6, 96, 3, 1}, Stage{6, 160, 3, 2}, Stage{6, 320, 1, 1}}) {
      for (int64_t i = 0; i < stage.count; ++i) {
        const int64_t before = ChannelsOf(x);
        const int64_t width = before * stage.expansion;
        Value* y = stage.expansion == 1 ? x : Normalized(x, width, {}, true);
        y = Normalized(y, width, Window3(SideOf(y), i == 0 ? stage.stride : 1, width), true);
        y = Normalized(y, stage.filters, {}, false);
        x = i > 0 ? Add(y, x) : y;
      }
    }
    return Normalized(x, 1280, {}, true);
  }

  // ---- Memory

  static int64_t ChannelsOf(const Value* x) { return x->data.get_desc().dims()[1]; }
  static int64_t SideOf(const Value* x) { return x->data.get_desc().dims()[2]; }

  [[nodiscard]] memory::desc Image(int64_t channels, int64_t side,
                                   memory::format_tag layout) const {
    return {{set_.batch, channels, side, side}, set_.type, layout};
  }
  [[nodiscard]] memory::desc Image(int64_t channels, int64_t side) const {
    return Image(channels, side, set_.layout);
  }

  // Small numbers, in either type.
  memory Filled(const memory::desc& desc) {
    memory made(desc, engine_);
    const size_t bytes = desc.get_size();
    if (bytes == 0) return made;
    auto* const to = static_cast<unsigned char*>(made.get_data_handle());
    const bool is_half = desc.data_type() == memory::data_type::bf16;
    for (size_t i = 0; i < bytes / (is_half ? 2 : 4); ++i) {
      const float number = 0.01F * static_cast<float>(i * 37 % 11) - 0.03F;
      uint32_t bits = 0;
      std::memcpy(&bits, &number, sizeof(bits));
      if (is_half) {
        bits >>= 16;
        std::memcpy(to + 2 * i, &bits, 2);
      } else {
        std::memcpy(to + 4 * i, &bits, 4);
      }
    }
    return made;
  }

  Value* New(const memory::desc& desc) {
    values_.push_back({.data = Filled(desc), .grad = {}, .has_grad = false});
    return &values_.back();
  }

  // Gradients reuse the memory of gradients that are no longer read.
  memory Gradient(const memory::desc& desc) {
    for (auto at = free_.begin(); at != free_.end(); ++at) {
      if (at->get_desc() != desc) continue;
      memory found = *at;
      free_.erase(at);
      return found;
    }
    return Filled(desc);
  }
  void Release(Value* y) {
    if (y->grad) free_.push_back(y->grad);
    y->grad = {};
  }

  // ---- Operations

  void Push(std::string kind, dnnl::primitive primitive, Args args) {
    const char* name = "";
    dnnl_primitive_desc_query(primitive.get_primitive_desc(), dnnl_query_impl_info_str, 0, &name);
    falls_back_ = falls_back_ || std::string_view(name).starts_with("ref");
    ops_.push_back({std::move(kind), std::move(primitive), std::move(args)});
  }

  void Sum(const memory& a, const memory& b, const memory& to) {
    const dnnl::binary::desc desc(dnnl::algorithm::binary_add, a.get_desc(), b.get_desc(),
                                  to.get_desc());
    Push("add", dnnl::binary({desc, engine_}),
         {{DNNL_ARG_SRC_0, a}, {DNNL_ARG_SRC_1, b}, {DNNL_ARG_DST, to}});
  }

  // Calls write(memory) to compute a gradient of x, and adds it to an existing one.
  void Give(Value* x, const std::function<void(const memory&)>& write) {
    const memory grad = Gradient(x->data.get_desc());
    write(grad);
    if (x->has_grad) {
      Sum(x->grad, grad, x->grad);
      free_.push_back(grad);
    } else {
      x->grad = grad;
      x->has_grad = true;
    }
  }

  static const char* KindOf(const Window& w) {
    return w.groups > 1 ? "depthwise" : w.size == 1 ? "1x1" : "conv";
  }

  Value* Conv(Value* x, int64_t filters, const Window& w) {
    const int64_t side = (SideOf(x) + w.before + w.after - w.size) / w.stride + 1;
    Value* const y = New(Image(filters, side));
    const int64_t channels = ChannelsOf(x) / w.groups;
    const memory::dims dims =
        w.groups > 1 ? memory::dims{w.groups, filters / w.groups, channels, w.size, w.size}
                     : memory::dims{filters, channels, w.size, w.size};
    const memory::desc filter(dims, set_.type, memory::format_tag::any);
    const memory::desc filter_grad(dims, memory::data_type::f32, memory::format_tag::any);
    const memory::dims strides(2, w.stride);
    const memory::dims before(2, w.before);
    const memory::dims after(2, w.after);
    constexpr auto kDirect = dnnl::algorithm::convolution_direct;
    const memory::desc in = x->data.get_desc();
    const memory::desc out = y->data.get_desc();
    const dnnl::convolution_forward::primitive_desc forward(
        {dnnl::prop_kind::forward_training, kDirect, in, filter, out, strides, before, after},
        engine_);
    Push(fmt::format("{} forward", KindOf(w)), dnnl::convolution_forward(forward),
         {{DNNL_ARG_SRC, x->data},
          {DNNL_ARG_WEIGHTS, Filled(forward.weights_desc())},
          {DNNL_ARG_DST, y->data}});
    backward_.emplace_back([=, this] {
      const dnnl::convolution_backward_weights::primitive_desc weights(
          {kDirect, in, filter_grad, out, strides, before, after}, engine_, forward);
      Push(fmt::format("{} backward filter", KindOf(w)),
           dnnl::convolution_backward_weights(weights),
           {{DNNL_ARG_SRC, x->data},
            {DNNL_ARG_DIFF_WEIGHTS, Filled(weights.diff_weights_desc())},
            {DNNL_ARG_DIFF_DST, y->grad}});
      if (x != images_) {
        Give(x, [&](const memory& grad) {
          const dnnl::convolution_backward_data::primitive_desc data(
              {kDirect, in, filter, out, strides, before, after}, engine_, forward);
          Push(fmt::format("{} backward data", KindOf(w)), dnnl::convolution_backward_data(data),
               {{DNNL_ARG_DIFF_SRC, grad},
                {DNNL_ARG_WEIGHTS, Filled(data.weights_desc())},
                {DNNL_ARG_DIFF_DST, y->grad}});
        });
      }
      Release(y);
    });
    return y;
  }

  Value* Norm(Value* x, bool relu) {
    using dnnl::normalization_flags;
    Value* const y = New(x->data.get_desc());
    const memory::desc desc = x->data.get_desc();
    const memory::desc by_channel({ChannelsOf(x)}, memory::data_type::f32, memory::format_tag::a);
    normalization_flags flags = normalization_flags::use_scale | normalization_flags::use_shift;
    if (relu) flags |= normalization_flags::fuse_norm_relu;
    const dnnl::batch_normalization_forward::primitive_desc forward(
        {dnnl::prop_kind::forward_training, desc, 1e-3F, flags}, engine_);
    const memory scale = Filled(by_channel);
    const memory shift = Filled(by_channel);
    const memory mean = Filled(by_channel);
    const memory variance = Filled(by_channel);
    Args args = {{DNNL_ARG_SRC, x->data}, {DNNL_ARG_DST, y->data}, {DNNL_ARG_SCALE, scale},
                 {DNNL_ARG_SHIFT, shift}, {DNNL_ARG_MEAN, mean},   {DNNL_ARG_VARIANCE, variance}};
    const memory workspace(forward.workspace_desc(), engine_);
    if (relu) args[DNNL_ARG_WORKSPACE] = workspace;
    Push("norm forward", dnnl::batch_normalization_forward(forward), args);
    backward_.emplace_back([=, this] {
      const dnnl::batch_normalization_backward::primitive_desc backward(
          {dnnl::prop_kind::backward, desc, desc, 1e-3F, flags}, engine_, forward);
      Give(x, [&](const memory& grad) {
        Args grads = args;
        grads.erase(DNNL_ARG_DST);
        grads[DNNL_ARG_DIFF_DST] = y->grad;
        grads[DNNL_ARG_DIFF_SRC] = grad;
        grads[DNNL_ARG_DIFF_SCALE] = Filled(by_channel);
        grads[DNNL_ARG_DIFF_SHIFT] = Filled(by_channel);
        Push("norm backward", dnnl::batch_normalization_backward(backward), grads);
      });
      Release(y);
    });
    return y;
  }

  // Both inputs have the result's gradient; the second input's is a view of it.
  Value* Add(Value* a, Value* b) {
    Value* const y = New(a->data.get_desc());
    Sum(a->data, b->data, y->data);
    backward_.emplace_back([=, this] {
      a->grad = y->grad;
      a->has_grad = true;
      // The backward of `a` reads it before any other op adds to the gradient of b, and frees it,
      // so b needs its own copy.
      Give(b, [&](const memory& grad) {
        const dnnl::reorder::primitive_desc copy(engine_, y->grad.get_desc(), engine_,
                                                 grad.get_desc());
        Push("add", dnnl::reorder(copy), {{DNNL_ARG_FROM, y->grad}, {DNNL_ARG_TO, grad}});
      });
      y->grad = {};
    });
    return y;
  }

  Value* Relu(Value* x) {
    constexpr auto kRelu = dnnl::algorithm::eltwise_relu_use_dst_for_bwd;
    Value* const y = New(x->data.get_desc());
    const memory::desc desc = x->data.get_desc();
    const dnnl::eltwise_forward::primitive_desc forward(
        {dnnl::prop_kind::forward_training, kRelu, desc, 0.0F}, engine_);
    Push("relu", dnnl::eltwise_forward(forward),
         {{DNNL_ARG_SRC, x->data}, {DNNL_ARG_DST, y->data}});
    backward_.emplace_back([=, this] {
      const dnnl::eltwise_backward::primitive_desc backward({kRelu, desc, desc, 0.0F}, engine_,
                                                            forward);
      Push("relu", dnnl::eltwise_backward(backward),
           {{DNNL_ARG_DST, y->data}, {DNNL_ARG_DIFF_DST, y->grad}, {DNNL_ARG_DIFF_SRC, y->grad}});
      x->grad = y->grad;
      x->has_grad = true;
      y->grad = {};
    });
    return y;
  }

  Value* Pool(Value* x, dnnl::algorithm how, const Window& w) {
    const int64_t side = (SideOf(x) + w.before + w.after - w.size) / w.stride + 1;
    Value* const y = New(Image(ChannelsOf(x), side));
    const memory::dims sizes(2, w.size);
    const memory::dims strides(2, w.stride);
    const memory::dims before(2, w.before);
    const memory::dims after(2, w.after);
    const memory::desc in = x->data.get_desc();
    const memory::desc out = y->data.get_desc();
    const dnnl::pooling_forward::primitive_desc forward(
        {dnnl::prop_kind::forward_training, how, in, out, strides, sizes, before, after}, engine_);
    const memory workspace(forward.workspace_desc(), engine_);
    Push("pool", dnnl::pooling_forward(forward),
         {{DNNL_ARG_SRC, x->data}, {DNNL_ARG_DST, y->data}, {DNNL_ARG_WORKSPACE, workspace}});
    backward_.emplace_back([=, this] {
      const dnnl::pooling_backward::primitive_desc backward(
          {how, in, out, strides, sizes, before, after}, engine_, forward);
      Give(x, [&](const memory& grad) {
        Push("pool", dnnl::pooling_backward(backward),
             {{DNNL_ARG_DIFF_DST, y->grad},
              {DNNL_ARG_DIFF_SRC, grad},
              {DNNL_ARG_WORKSPACE, workspace}});
      });
      Release(y);
    });
    return y;
  }
  Value* MaxPool(Value* x, const Window& w) { return Pool(x, dnnl::algorithm::pooling_max, w); }
  Value* Pooled(Value* x) {
    return Pool(x, dnnl::algorithm::pooling_avg_exclude_padding, {SideOf(x), 1});
  }

  // The last layer is a 1x1 convolution of one pixel, whose gradient already exists.
  void Dense(Value* x) {
    Value* const y = Conv(x, 1000, {});
    y->grad = Filled(y->data.get_desc());
    y->has_grad = true;
  }

  const Setting set_;
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  std::deque<Value> values_;
  Value* images_ = nullptr;
  std::vector<memory> free_;
  std::vector<Op> ops_;
  bool falls_back_ = false;
  std::vector<std::function<void()>> backward_;
};

struct Measured {
  double images_per_s = 0;
  std::map<std::string, double> profile;
};

Measured Measure(const Setting& setting, int threads) {
  constexpr int kSteps = 5;
  std::vector<double> best(static_cast<size_t>(threads), 1e9);
  Measured measured;
  std::vector<std::thread> team;
  for (int t = 0; t < threads; ++t) {
    team.emplace_back([&, t] {
      omp_set_num_threads(1);
      Loop loop(setting);
      if (loop.falls_back()) return;
      loop.Run();
      for (int step = 0; step < kSteps; ++step) {
        const double begin = Seconds();
        loop.Run();
        best[static_cast<size_t>(t)] = std::min(best[static_cast<size_t>(t)], Seconds() - begin);
      }
      if (t == 0) measured.profile = loop.Profile();
    });
  }
  for (std::thread& thread : team) thread.join();
  for (const double seconds : best) {
    measured.images_per_s += static_cast<double>(setting.batch) / seconds;
  }
  return measured;
}

int Main(int argc, char** argv) {
  if (argc < 5) {
    fmt::print(stderr, "vision_loop ResNet50|MobileNetV2 SIDE BATCH float32|bfloat16 [THREADS]\n");
    return 2;
  }
  const int threads = argc > 5 ? std::stoi(argv[5]) : omp_get_max_threads();
  Setting setting{.network = argv[1],
                  .side = std::stoi(argv[2]),
                  .batch = std::stoi(argv[3]) / threads,
                  .type = std::string_view(argv[4]) == "bfloat16" ? memory::data_type::bf16
                                                                  : memory::data_type::f32};
  const bool is_wide = dnnl::get_effective_cpu_isa() >= dnnl::cpu_isa::avx512_core;
  Measured best;
  std::string layout;
  for (const bool blocked : {false, true}) {
    using Tag = memory::format_tag;
    setting.layout = !blocked ? Tag::nhwc : is_wide ? Tag::nChw16c : Tag::nChw8c;
    const Measured measured = Measure(setting, threads);
    if (measured.images_per_s <= best.images_per_s) continue;
    best = measured;
    layout = blocked ? "blocked" : "nhwc";
  }
  std::string profile;
  for (const auto& [kind, time] : best.profile) {
    profile += fmt::format("{}\"{}\": {:.0f}", profile.empty() ? "" : ", ", kind, time);
  }
  fmt::print("{{\"images_per_s\": {:.2f}, \"layout\": \"{}\", \"us_per_image\": {{{}}}}}\n",
             best.images_per_s, layout, profile);
  return 0;
}

}  // namespace
}  // namespace tpuest

int main(int argc, char** argv) { return tpuest::Main(argc, argv); }
