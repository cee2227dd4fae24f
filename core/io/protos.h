#pragma once
// The generated messages, for .cpp files of core/io, core/graph and core/estimator. Include them
// only through this header: protobuf has a function named Check, which would clash with our macro.

#pragma push_macro("Check")
#undef Check
#include "core/io/checkpoint.pb.h"
#include "core/io/event.pb.h"
#include "core/io/example.pb.h"
#include "core/io/graph.pb.h"
#include "core/io/hparams.pb.h"
#include "core/io/meta_graph.pb.h"
#include "core/io/tensor.pb.h"
#pragma pop_macro("Check")
