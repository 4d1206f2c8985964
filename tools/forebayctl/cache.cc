// forebayctl cache: shows what the cache holds, and the reads that it saved.

#include <iostream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tools/forebayctl/show.h"
#include "tools/forebayctl/text_table.h"
#include "tools/forebayctl/units.h"
#include "tools/forebayctl/verb.h"

namespace forebay::ctl {
namespace {

std::string Reads(std::uint64_t reads) {
  return Count(static_cast<double>(reads));
}

std::string Size(std::uint64_t bytes) {
  return Bytes(static_cast<double>(bytes));
}

// Returns a part as a percentage of the whole; "-" if the whole is 0.
std::string Share(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return "-";
  return Percent(static_cast<double>(part) / static_cast<double>(whole));
}

// Adds the row of a job, or of all jobs. Reads from memory, from another job's
// read or from the disk are hits, because no source had to serve them.
void AddRow(const std::string& name, const proto::ReadTraffic& traffic,
            TextTable* table) {
  const std::uint64_t hits = traffic.memory().reads() +
                             traffic.shared().reads() + traffic.disk().reads();
  const std::uint64_t reads = hits + traffic.source().reads();
  table->AddRow({name, Reads(reads), Share(hits, reads),
                 Size(traffic.memory().bytes()), Size(traffic.shared().bytes()),
                 Size(traffic.disk().bytes()), Size(traffic.source().bytes())});
}

// Prints the lines of the cache's tier on disk.
void PrintDisk(const proto::DiskTierStatus& disk) {
  const std::uint64_t reads = disk.hits().reads() + disk.misses().reads();
  std::cout << "disk      " << Size(disk.used()) << " of "
            << Size(disk.capacity()) << " ("
            << Share(disk.used(), disk.capacity()) << "), "
            << Reads(disk.entries()) << " entries"
            << (disk.off() ? "; left alone for a while: it failed or is slow"
                           : "")
            << "\n"
            << "  hits      " << Share(disk.hits().reads(), reads) << " of "
            << Reads(reads) << " reads, " << Size(disk.hits().bytes()) << "\n"
            << "  written   " << Size(disk.written().bytes()) << ", "
            << Size(disk.waiting()) << " wait\n"
            << "  given up  " << Reads(disk.evicted().reads()) << " entries, "
            << Size(disk.evicted().bytes()) << "; "
            << Reads(disk.carried().reads()) << " of them written once more\n"
            << "  not kept  " << Reads(disk.refused().reads()) << " reads, "
            << Size(disk.refused().bytes()) << "; " << Reads(disk.damaged())
            << " entries were damaged, " << Reads(disk.failures())
            << " times the disk failed\n\n";
}

// Prints a line on the entries with encoded bytes and a line on those with
// decoded images.
void PrintVariants(const proto::CacheStatus& status) {
  const proto::DecodedStatus& decoded = status.decoded();
  const std::uint64_t hits = status.total().memory().reads();
  std::cout << "encoded   " << Reads(status.entries() - decoded.entries())
            << " entries in "
            << Size(status.entry_bytes() - decoded.entry_bytes()) << ", "
            << Reads(hits - decoded.hits()) << " hits\n"
            << "decoded   " << Reads(decoded.entries()) << " entries in "
            << Size(decoded.entry_bytes()) << ", " << Reads(decoded.hits())
            << " hits, which saved "
            << absl::StrFormat("%.1f",
                               static_cast<double>(decoded.saved_nanos()) / 1e9)
            << " s of CPU time; " << Reads(decoded.made()) << " made\n\n";
}

void Print(const proto::CacheStatus& status) {
  std::cout << "memory    " << Size(status.used()) << " of "
            << Size(status.capacity()) << " ("
            << Share(status.used(), status.capacity()) << "), "
            << Reads(status.entries()) << " entries, "
            << Reads(status.reads_in_flight()) << " reads under way\n"
            << "saved     " << Size(status.bytes_saved())
            << " that no source had to give\n"
            << "given up  " << Reads(status.evicted().reads()) << " entries, "
            << Size(status.evicted().bytes()) << "\n"
            << "not kept  " << Reads(status.bypassed().reads()) << " reads, "
            << Size(status.bypassed().bytes()) << "; "
            << Reads(status.failures()) << " failed\n";
  PrintVariants(status);
  if (status.has_disk()) PrintDisk(status.disk());
  TextTable table({{"JOB"},
                   {"READS", true, 2},
                   {"HITS", true},
                   {"FROM MEMORY", true},
                   {"SHARED", true},
                   {"FROM SSD", true},
                   {"FROM SOURCE", true}});
  for (const proto::JobTraffic& job : status.jobs()) {
    AddRow(job.name(), job.traffic(), &table);
  }
  AddRow("all", status.total(), &table);
  std::cout << table.Format(TerminalWidth());
}

}  // namespace

int RunCache(const Options& options) {
  return Show(options, &AdminClient::GetCache, &Print);
}

}  // namespace forebay::ctl
