#pragma once
// Errors of a part of a job say where in the job that part stands.

#include <string>
#include <utility>

#include "core/base/error.h"
#include "core/graph/graph.h"

namespace tpuest::nn {

// The result of build(); its errors that know no nearer place have this one.
template <class Build>
decltype(auto) AtPlace(const Place& place, Build&& build) {
  try {
    return build();
  } catch (Error& error) {
    if (error.faults().front().place.line > 0) throw;
    throw std::move(error).At(place);
  }
}

// The result of build() likewise; the nodes that it adds have the place as their origin.
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
