#include "server/sampler/coordinated_order.h"

#include <algorithm>
#include <optional>

#include "server/base/check.h"
#include "server/base/philox.h"

namespace forebay::sampler {
namespace {

// The percentage of draws in which the member with the most samples left draws
// anew, although decoded samples are there for it. A higher value makes
// successive epochs depend less on one another, and costs more decodes.
constexpr std::uint64_t kDrawnWithoutNeed = 17;

// DrawAnew tries this many of the samples that `like` lacks, and then as many
// of the samples that `member` lacks. The bound keeps Next fast when few
// samples suit.
constexpr int kTries = 16;

}  // namespace

CoordinatedOrder::CoordinatedOrder(std::uint64_t size, std::size_t capacity,
                                   std::uint64_t seed)
    : size_(size), seed_(seed), decoded_(capacity) {
  FOREBAY_CHECK(size > 0);
}

CoordinatedOrder::Member CoordinatedOrder::Join() {
  const auto free = std::find(members_.begin(), members_.end(), nullptr);
  const Member member = free - members_.begin();
  if (free == members_.end()) members_.emplace_back();
  members_[member] = std::make_unique<Epoch>(size_);
  decoded_.Restart(member, &members_[member]->seen_samples);
  return member;
}

void CoordinatedOrder::Leave(Member member) {
  members_[member] = nullptr;
  decoded_.Restart(member, nullptr);
}

void CoordinatedOrder::StartEpoch(Member member, SampleSet seen_samples) {
  FOREBAY_CHECK(seen_samples.size() == size_);
  members_[member]->seen_samples = std::move(seen_samples);
  decoded_.Restart(member, &members_[member]->seen_samples);
}

std::uint64_t CoordinatedOrder::Left(Member member) const {
  return members_[member]->seen_samples.lacking();
}

bool CoordinatedOrder::IsLackedByOthers(Member member,
                                        std::uint64_t sample) const {
  for (Member other = 0; other < members_.size(); ++other) {
    if (other == member || members_[other] == nullptr) continue;
    if (!HasSeen(other, sample)) return true;
  }
  return false;
}

bool CoordinatedOrder::Moves(const Epoch& epoch) const {
  return epoch.moved_at.has_value() &&
         drawn_anew_ - *epoch.moved_at <= decoded_.capacity();
}

bool CoordinatedOrder::HasMostLeft(Member member) const {
  bool is_alone = true;
  for (Member other = 0; other < members_.size(); ++other) {
    const Epoch* const epoch = members_[other].get();
    if (epoch == nullptr || other == member || !Moves(*epoch)) continue;
    is_alone = false;
    // If two members have equally many left, the first one counts as having
    // more.
    if (Left(other) > Left(member) ||
        (Left(other) == Left(member) && other < member)) {
      return false;
    }
  }
  return !is_alone;
}

CoordinatedOrder::Member CoordinatedOrder::LeastLeft(Member member) const {
  Member least = member;
  for (Member other = 0; other < members_.size(); ++other) {
    const Epoch* const epoch = members_[other].get();
    if (epoch == nullptr || !Moves(*epoch) || Left(other) == 0) continue;
    if (Left(other) < Left(least)) least = other;
  }
  return least;
}

std::uint64_t CoordinatedOrder::DrawAnew(Member member, Member like,
                                         base::PhiloxStream& random) const {
  const SampleSet& own = members_[member]->seen_samples;
  for (const Member whose : {like, member}) {
    const SampleSet& seen_samples = members_[whose]->seen_samples;
    for (int i = 0; i < kTries; ++i) {
      const std::uint64_t sample =
          seen_samples.Lacking(random.UniformInt(seen_samples.lacking()));
      if (!own.Has(sample) && !IsInFlight(sample)) return sample;
    }
  }
  return own.Lacking(random.UniformInt(own.lacking()));
}

std::uint64_t CoordinatedOrder::Next(Member member) {
  Epoch& epoch = *members_[member];
  FOREBAY_CHECK(epoch.seen_samples.lacking() > 0);
  base::PhiloxStream random(seed_, /*epoch=*/0, ++draws_,
                            base::kCoordinatedStream);
  const bool without_need =
      random.UniformInt(100) < kDrawnWithoutNeed && HasMostLeft(member);
  std::optional<std::uint64_t> sample;
  if (!without_need) sample = decoded_.Draw(member, random);
  if (!sample.has_value()) {
    // A draw that is not needed only mixes this member's own order, so the
    // sample need not suit any other member.
    const Member like = without_need ? member : LeastLeft(member);
    sample = DrawAnew(member, like, random);
    ++drawn_anew_;
  }
  epoch.moved_at = drawn_anew_;
  epoch.seen_samples.Add(*sample);
  decoded_.Take(member, *sample);
  ++in_flight_[*sample];
  return *sample;
}

void CoordinatedOrder::Done(std::uint64_t sample) {
  const auto flight = in_flight_.find(sample);
  FOREBAY_CHECK(flight != in_flight_.end());
  if (--flight->second == 0) in_flight_.erase(flight);
}

void CoordinatedOrder::Put(std::uint64_t sample) {
  FOREBAY_CHECK(sample < size_);
  decoded_.Put(sample, Sets());
}

std::vector<const SampleSet*> CoordinatedOrder::Sets() const {
  std::vector<const SampleSet*> sets;
  sets.reserve(members_.size());
  for (const auto& epoch : members_) {
    sets.push_back(epoch == nullptr ? nullptr : &epoch->seen_samples);
  }
  return sets;
}

}  // namespace forebay::sampler
