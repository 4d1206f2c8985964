// Runs a fuzz target (LLVMFuzzerTestOneInput) as an ordinary test: first on
// each file of its corpus, then on random mutations of these files. The seed is
// fixed. If an input fails, the seed and the input's number are printed, so
// that any run can be repeated. With Clang's -fsanitize=fuzzer instead of this
// file, coverage guides the same target.
//
// Usage: NAME_fuzz_test FILE... with these environment variables:
// - FOREBAY_FUZZ_RUNS: number of mutations to try (default 20000);
// - FOREBAY_FUZZ_SECONDS: for how long at most (default 10);
// - FOREBAY_FUZZ_SEED: the seed (default 1);
// - FOREBAY_FUZZ_ONLY: the number of the one mutation to run.

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size);
// Sets a function that a sanitizer, if one is linked in, calls before it dies.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming):
// theirs
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(
    void (*callback)());
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

namespace {

using Input = std::vector<std::uint8_t>;

// Number of the input that is running, for the death callback.
std::uint64_t running = 0;

void TellRunning() {
  std::fprintf(stderr, "failed at mutation %llu\n",
               static_cast<unsigned long long>(running));
}

// Writes the number of the input that is running. A signal handler must not do
// so in general, but the program is lost already.
void TellRunningAndDie(int signal) {
  TellRunning();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

std::uint64_t FromEnvironment(const char* name, std::uint64_t fallback) {
  const char* value = std::getenv(name);
  return value == nullptr ? fallback : std::strtoull(value, nullptr, 10);
}

class Mutator {
 public:
  Mutator(const std::vector<Input>& corpus, std::uint64_t seed)
      : corpus_(corpus), random_(seed) {}

  Input Mutate() {
    Input input = corpus_[Below(corpus_.size())];
    const std::size_t steps = 1 + Below(6);
    for (std::size_t i = 0; i < steps; ++i) Step(input);
    return input;
  }

 private:
  // Returns a place in the input. Half of all places lie in the first 1 KiB,
  // where headers are.
  std::size_t PendingSample(const Input& input) {
    const std::size_t size = input.size();
    return Below(Below(2) == 0 ? size : std::min<std::size_t>(size, 1024));
  }

  std::size_t Below(std::size_t bound) {
    return static_cast<std::size_t>(random_() %
                                    std::max<std::size_t>(bound, 1));
  }

  void Step(Input& input) {
    if (input.empty()) input.push_back(0);
    const std::size_t at = PendingSample(input);
    switch (Below(7)) {
      case 0:
        input[at] ^= static_cast<std::uint8_t>(1u << Below(8));
        return;
      case 1:
        input[at] = static_cast<std::uint8_t>(random_());
        return;
      case 2: {
        constexpr std::uint8_t kEdges[] = {0, 1, 0x7f, 0x80, 0xfe, 0xff};
        input[at] = kEdges[Below(sizeof(kEdges))];
        return;
      }
      case 3:
        if (Below(4) == 0) input.resize(at);
        return;
      case 4:
        Erase(input, at);
        return;
      default:
        Splice(input, at);
    }
  }

  void Erase(Input& input, std::size_t at) {
    const std::size_t count = std::min(1 + Below(64), input.size() - at);
    const auto begin = input.begin() + static_cast<std::ptrdiff_t>(at);
    input.erase(begin, begin + static_cast<std::ptrdiff_t>(count));
  }

  // Takes a piece of any file of the corpus, and inserts it or overwrites the
  // input with it.
  void Splice(Input& input, std::size_t at) {
    const Input& other = corpus_[Below(corpus_.size())];
    if (other.empty()) return;
    const std::size_t from = PendingSample(other);
    const std::size_t count = std::min(1 + Below(256), other.size() - from);
    const auto piece = other.begin() + static_cast<std::ptrdiff_t>(from);
    const auto target = input.begin() + static_cast<std::ptrdiff_t>(at);
    if (Below(2) == 0) {
      input.insert(target, piece, piece + static_cast<std::ptrdiff_t>(count));
    } else {
      std::copy_n(piece, std::min(count, input.size() - at), target);
    }
  }

  const std::vector<Input>& corpus_;
  std::mt19937_64 random_;
};

void Run(const Input& input) {
  // The allocation has exactly the input's size, so that a read past its end is
  // found.
  auto exact = std::make_unique<std::uint8_t[]>(input.size());
  if (!input.empty()) std::memcpy(exact.get(), input.data(), input.size());
  LLVMFuzzerTestOneInput(exact.get(), input.size());
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t runs = FromEnvironment("FOREBAY_FUZZ_RUNS", 20000);
  const auto until =
      std::chrono::steady_clock::now() +
      std::chrono::seconds(FromEnvironment("FOREBAY_FUZZ_SECONDS", 10));
  const std::uint64_t seed = FromEnvironment("FOREBAY_FUZZ_SEED", 1);
  const std::uint64_t only = FromEnvironment("FOREBAY_FUZZ_ONLY", runs);
  std::vector<Input> corpus;
  for (int i = 1; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    if (!file) {
      std::fprintf(stderr, "cannot read %s\n", argv[i]);
      return 1;
    }
    corpus.emplace_back(std::istreambuf_iterator<char>(file),
                        std::istreambuf_iterator<char>());
  }
  if (corpus.empty()) {
    std::fprintf(stderr, "usage: %s FILE...\n", argv[0]);
    return 1;
  }
  std::printf("seed %llu, %zu files, %llu mutations\n",
              static_cast<unsigned long long>(seed), corpus.size(),
              static_cast<unsigned long long>(runs));
  std::fflush(stdout);
  if (__sanitizer_set_death_callback != nullptr) {
    __sanitizer_set_death_callback(TellRunning);
  }
  std::signal(SIGABRT, TellRunningAndDie);
  Run({});
  for (const Input& input : corpus) Run(input);
  Mutator mutator(corpus, seed);
  for (running = 0; running < runs; ++running) {
    const Input input = mutator.Mutate();
    if (only != runs && only != running) continue;
    if (only == runs && std::chrono::steady_clock::now() >= until) break;
    Run(input);
  }
  return 0;
}
