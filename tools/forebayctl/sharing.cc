#include "tools/forebayctl/sharing.h"

#include "absl/strings/str_cat.h"
#include "tools/forebayctl/units.h"

namespace forebay::ctl {

std::string Sharing(const proto::Loader& loader) {
  using proto::LoaderSharing;
  if (!loader.running()) return "-";
  const LoaderSharing& sharing = loader.sharing();
  const std::string behind =
      sharing.behind() == 0
          ? ""
          : absl::StrCat(Count(static_cast<double>(sharing.behind())),
                         " behind");
  const auto joined = [&](const char* what) {
    return absl::StrCat(behind, behind.empty() ? "" : ", ", what);
  };
  switch (sharing.standing()) {
    case LoaderSharing::TOGETHER: {
      const std::string with =
          absl::StrCat("with ", sharing.members() - 1,
                       sharing.members() == 2 ? " other" : " others");
      return behind.empty() ? with : absl::StrCat(with, ", ", behind);
    }
    case LoaderSharing::TRAILING:
      return joined("reads what is kept");
    case LoaderSharing::CATCHING:
      return joined("catches up");
    case LoaderSharing::YIELDING:
      return joined("gives way");
    case LoaderSharing::APART:
      return joined("apart");
    default:
      return sharing.lacks_key() ? "alone (equal jobs share by share_key=)"
             : sharing.iterated_alone()
                 ? "alone (equal jobs share by forebay.share)"
                 : "alone";
  }
}

}  // namespace forebay::ctl
