#ifndef FOREBAY_TESTS_UNIT_SERVER_SAMPLER_ORDER_SIMULATION_H_
#define FOREBAY_TESTS_UNIT_SERVER_SAMPLER_ORDER_SIMULATION_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "server/sampler/coordinated_order.h"

namespace forebay::sampler {

using Order = std::vector<std::uint64_t>;

// Readers at paces of their own, in simulated time, each a batch at a time. A
// sample that was not on the shelf when it was asked for is decoded, and on the
// shelf from when its batch is complete.
class Simulation {
 public:
  // CPU time, in seconds, of a sample that is decoded, and of any.
  static constexpr double kDecode = 0.6;
  static constexpr double kMake = 0.1;

  struct Pace {
    double speed = 1;   // samples a second; 0: as its part of the CPU allows
    double begins = 0;  // seconds
    std::uint64_t batch = 32;
    int epochs = 4;
  };

  Simulation(std::uint64_t size, std::size_t capacity, std::uint64_t seed,
             const std::vector<Pace>& paces)
      : order_(size, capacity, seed) {
    for (const Pace& pace : paces) {
      readers_.emplace_back();
      readers_.back().pace = pace;
      readers_.back().next = pace.begins;
    }
  }

  void Run() {
    while (true) {
      Reader* soonest = nullptr;
      for (Reader& reader : readers_) {
        if (reader.done == reader.pace.epochs) continue;
        if (soonest == nullptr || reader.next < soonest->next)
          soonest = &reader;
      }
      if (soonest == nullptr) return;
      Step(*soonest);
    }
  }

  double decodes_per_sample() const {
    return static_cast<double>(decodes_) / static_cast<double>(delivered_);
  }
  // Of each reader, of each epoch.
  std::vector<std::vector<Order>> orders() const {
    std::vector<std::vector<Order>> orders;
    for (const Reader& reader : readers_) orders.push_back(reader.orders);
    return orders;
  }

 private:
  struct Reader {
    Pace pace;
    double next = 0;
    int done = 0;
    bool joined = false;
    CoordinatedOrder::Reader number = 0;
    Order batch;    // in the making
    Order decoded;  // of these
    std::vector<Order> orders;
  };

  void Step(Reader& reader) {
    if (!reader.joined) {
      reader.number = order_.Join();
      reader.joined = true;
      reader.orders.emplace_back();
    }
    Finish(reader);
    if (order_.Left(reader.number) == 0) {
      EndEpoch(reader);
      return;
    }
    while (reader.batch.size() < reader.pace.batch &&
           order_.Left(reader.number) > 0) {
      const std::uint64_t sample = order_.Next(reader.number);
      reader.orders.back().push_back(sample);
      reader.batch.push_back(sample);
      if (!order_.IsShelved(sample)) reader.decoded.push_back(sample);
    }
    decodes_ += reader.decoded.size();
    const auto count = static_cast<double>(reader.batch.size());
    if (reader.pace.speed > 0) {
      reader.next += count / reader.pace.speed;
      Finish(reader);  // long before that
      return;
    }
    const auto decoded = static_cast<double>(reader.decoded.size());
    const auto running = static_cast<double>(std::count_if(
        readers_.begin(), readers_.end(), [](const Reader& other) {
          return other.joined && other.done < other.pace.epochs;
        }));
    reader.next += (count * kMake + decoded * kDecode) * running;
  }

  // The batch is complete.
  void Finish(Reader& reader) {
    for (const std::uint64_t sample : reader.batch) order_.Made(sample);
    for (const std::uint64_t sample : reader.decoded) order_.Put(sample);
    delivered_ += reader.batch.size();
    reader.batch.clear();
    reader.decoded.clear();
  }

  void EndEpoch(Reader& reader) {
    if (++reader.done == reader.pace.epochs) {
      order_.Leave(reader.number);
    } else {
      order_.StartEpoch(reader.number);
      reader.orders.emplace_back();
    }
  }

  CoordinatedOrder order_;
  std::vector<Reader> readers_;
  std::uint64_t decodes_ = 0;
  std::uint64_t delivered_ = 0;
};

}  // namespace forebay::sampler

#endif  // FOREBAY_TESTS_UNIT_SERVER_SAMPLER_ORDER_SIMULATION_H_
