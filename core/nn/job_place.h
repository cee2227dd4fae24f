#pragma once
// Adds the place in the job to errors of the part that stands there.

#include <string>
#include <utility>

#include "core/base/error.h"
#include "core/graph/graph.h"

namespace tpuest::nn {

// Returns build()'s result. An Error without a place gets this one.
template <class Build>
decltype(auto) AtPlace(const Place& place, Build&& build) {
  try {
    return build();
  } catch (Error& error) {
    if (error.faults().front().place.line > 0) throw;
    throw std::move(error).At(place);
  }
}

// Returns build()'s result likewise; the nodes that it adds get the place as their origin.
template <class Build>
decltype(auto) AtPlace(Graph& graph, const Place& place, Build&& build) {
  const OriginScope origin(graph, place);
  return AtPlace(place, std::forward<Build>(build));
}

// Throws Error kUsage at a place.
[[noreturn]] inline void Refuse(const Place& place, std::string message, std::string hint = "") {
  throw Error(Code::kUsage, std::move(message), std::move(hint)).At(place);
}

}  // namespace tpuest::nn
