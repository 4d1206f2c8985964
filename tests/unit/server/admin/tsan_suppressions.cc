#include "tests/unit/server/admin/tsan_suppressions.h"

extern "C" const char* TsanSuppressions() {
  return "called_from_lib:libgrpc.so\n"
         "called_from_lib:libgpr.so\n"
         "called_from_lib:libabsl_graphcycles_internal.so\n"
         "race:libgrpc.so\n"
         "race:libgpr.so\n"
         "race:libabsl_\n"
         "race:^grpc\n"
         "race:^absl::\n"
         "mutex:libgrpc.so\n"
         "mutex:libabsl_\n";
}
