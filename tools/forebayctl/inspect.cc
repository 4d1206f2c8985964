// forebayctl inspect: describes a dataset. The Python package makes the
// description.
//
// Only a client opens the user's paths, because it has the user's rights. The
// code that is printed is Python. The only implementation is therefore
// forebay.inspect in the Python package, and this process becomes a Python
// interpreter (execvp).

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tools/forebayctl/verb.h"

namespace forebay::ctl {
namespace {

// The Python program that inspects a dataset. The program removes the working
// directory from Python's module path, so that files in that directory cannot
// replace modules.
constexpr char kProgram[] = R"(
import sys
sys.path[:] = [folder for folder in sys.path if folder]
try:
    import numpy
    from forebay._inspect import command
except ImportError as error:
    sys.exit(f"forebayctl: {sys.executable} cannot inspect ({error}): name a "
             "Python that has the packages forebay and numpy in $FOREBAY_PYTHON")
except KeyboardInterrupt:
    sys.exit(130)
except Exception as error:
    sys.exit(f"forebayctl: {error}")
sys.exit(command.main(sys.argv[1:], "forebayctl"))
)";

// Returns the command line that runs the Python program with the user's
// options.
std::vector<std::string> Arguments(const std::string& python,
                                   const Options& options) {
  std::vector<std::string> arguments = {python, "-c", kProgram};
  if (options.json) arguments.emplace_back("--json");
  if (options.verify) arguments.emplace_back("--verify");
  if (!options.fields.empty()) {
    arguments.emplace_back("--fields=" + options.fields);
  }
  for (const std::string& root : options.extra_roots) {
    arguments.emplace_back("--extra-root=" + root);
  }
  if (!options.sheet.empty()) {
    arguments.emplace_back("--output=" + options.sheet);
  }
  arguments.emplace_back("--show=" + std::to_string(options.show));
  arguments.emplace_back("--");
  arguments.emplace_back(options.uri);
  return arguments;
}

}  // namespace

int RunInspect(const Options& options) {
  const char* const given = std::getenv("FOREBAY_PYTHON");
  const std::string python =
      given == nullptr || *given == '\0' ? "python3" : given;
  std::vector<std::string> arguments = Arguments(python, options);
  std::vector<char*> pointers;
  pointers.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  // The Python package looks for a daemon in the same places as forebayctl. If
  // no daemon listens and no folder is named, the package starts a daemon for
  // the user. A folder is therefore passed on only if the user gave one.
  if (options.is_runtime_dir_given)
    setenv("FOREBAY_RUNTIME_DIR", options.runtime_dir.c_str(), 1);
  execvp(python.c_str(), pointers.data());
  return Complain(absl::NotFoundError(absl::StrCat(
      python, " cannot be run: ", std::strerror(errno),
      ": name a Python that has the forebay package in $FOREBAY_PYTHON")));
}

}  // namespace forebay::ctl
