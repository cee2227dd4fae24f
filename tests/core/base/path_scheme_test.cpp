// Paths with a scheme.

#include "core/base/path_scheme.h"

#include <doctest/doctest.h>

namespace tpuest {

TEST_CASE("a scheme begins a path with letters and ://") {
  CHECK(SchemeOf("gs://bucket/run") == "gs");
  CHECK(SchemeOf("S3://bucket") == "s3");
  CHECK(SchemeOf("git+ssh://a") == "git+ssh");
  CHECK(SchemeOf("x://") == "x");
  for (const char* const path : {"", "run", "/x/y", "-", "://x", "1a://x", "a b://x", "runs/gs://x",
                                 "C:\\x", "pjrt:/lib.so"}) {
    CAPTURE(path);
    CHECK_FALSE(SchemeOf(path).has_value());
  }
}

TEST_CASE("a path with a scheme is refused with a way out for its scheme") {
  CHECK(RefusalOfScheme("gs://b/run")->message ==
        "expected a path of this machine, found 'gs://b/run'");
  CHECK(RefusalOfScheme("hdfs://b")->hint.find("hdfs:// is not read here; mount it") == 0);
  CHECK(RefusalOfScheme("https://h/x.csv")->hint ==
        "https:// is not read here; download the file and name the copy");
  CHECK(RefusalOfScheme("file:///x/y")->hint ==
        "file:// is not read here; write only the path: /x/y");
  CHECK_FALSE(RefusalOfScheme("runs/mnist").has_value());
}

}  // namespace tpuest
