// The main function of every test program. TPUEST_TEST_TIMES in the environment makes it print the
// seconds that each case took (`./dev test --times`).
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdlib>

int main(int argc, char** argv) {
  doctest::Context context(argc, argv);
  if (std::getenv("TPUEST_TEST_TIMES") != nullptr) context.setOption("duration", true);
  return context.run();
}
