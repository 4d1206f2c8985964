// A function of newer glibc that Debian's static libgcc calls. Without this
// copy, the library would not load where glibc is older. It is hidden in the
// library.

#include <elf.h>
#include <link.h>

#include <cstdint>

namespace {

// struct dl_find_object of glibc's dlfcn.h on machines that need no more.
struct FoundObject {
  unsigned long long flags;
  void* map_start;
  void* map_end;
  struct link_map* map;
  void* eh_frame;
  unsigned long long reserved[7];
};

struct Search {
  std::uintptr_t address;
  FoundObject* found;
};

int Look(struct dl_phdr_info* object, size_t, void* context) {
  Search& search = *static_cast<Search*>(context);
  const ElfW(Phdr)* tables = nullptr;
  bool inside = false;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    const std::uintptr_t start = object->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_GNU_EH_FRAME) tables = &segment;
    if (segment.p_type == PT_LOAD && search.address >= start &&
        search.address - start < segment.p_memsz) {
      inside = true;
      search.found->map_start = reinterpret_cast<void*>(start);
      search.found->map_end = reinterpret_cast<void*>(start + segment.p_memsz);
    }
  }
  if (!inside || tables == nullptr) return 0;
  search.found->flags = 0;
  search.found->map = nullptr;
  search.found->eh_frame =
      reinterpret_cast<void*>(object->dlpi_addr + tables->p_vaddr);
  return 1;
}

}  // namespace

// As in glibc 2.35; by dl_iterate_phdr, as libgcc looked for unwind tables
// before.
extern "C" int ForebayFindObject(void* address,
                                 FoundObject* found) asm("_dl_find_object");

extern "C" int ForebayFindObject(void* address, FoundObject* found) {
  Search search = {reinterpret_cast<std::uintptr_t>(address), found};
  return dl_iterate_phdr(Look, &search) == 1 ? 0 : -1;
}
