#!/bin/bash
# Boots systemd in namespaces of its own, on a copy of this host's files that is
# gone afterwards, and runs guest.py there as a service.
#
# Usage: boot.sh INSTALLED PHOTOS RESULT
#   INSTALLED  a tree laid over the host's files, as tools/install made it
#   PHOTOS     becomes /photos, which everybody may read
#   RESULT     a folder that becomes /result
#
# Needs root. Exits with 77, saying why, where the host allows no such boot.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

# --- Outside: makes mounts, and a cgroup that will be the root of all cgroups.
if [[ "${STAGE:-}" == '' ]]; then
  exec env STAGE=mounts unshare --mount --propagation private "$0" "$@"
fi
work=/mnt
if [[ "$STAGE" == mounts ]]; then
  refuse() {
    echo "$1"
    exit 77
  }
  mount -t tmpfs tmpfs "$work" || refuse 'cannot mount a tmpfs'
  mkdir "$work"/{cgroup,upper,overlay,root}
  if [[ -e /sys/fs/cgroup/cgroup.controllers ]]; then
    mount -t cgroup2 cgroup2 "$work/cgroup" || refuse 'cannot mount cgroup2'
  else
    mount -t cgroup -o none,name=systemd systemd "$work/cgroup" ||
      refuse 'cannot mount a named cgroup hierarchy'
  fi
  group=$work/cgroup/forebay-test-$$
  mkdir "$group" || refuse 'cannot make a cgroup'
  (
    echo "$BASHPID" >"$group/cgroup.procs"
    STAGE=root exec unshare --pid --fork --kill-child --mount --uts --ipc \
      --cgroup "$0" "$@"
  ) || true  # the exit status of PID 1 is not a verdict
  find "$group" -depth -type d -exec rmdir {} +
  exit 0
fi

# --- Inside, as PID 1: makes a root file system.
installed=$1 photos=$2 result=$3
root=$work/root
mount -t overlay overlay \
  -o "lowerdir=/,upperdir=$work/upper,workdir=$work/overlay" "$root"
cp -a "$installed/." "$root/"
mkdir -p "$root"/{photos,result,host}
cp -r "$photos/." "$root/photos/"
chmod -R a+rX "$root/photos"
mount --bind "$result" "$root/result"
cp "$here/guest.py" "$here"/../../faults/{hung_mount,fuse_server,fuse_protocol,fault_process}.py "$root/"

mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
umount -R "$root/sys/fs/cgroup"
if [[ -e /sys/fs/cgroup/cgroup.controllers ]]; then
  mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
else
  mount -t tmpfs tmpfs "$root/sys/fs/cgroup"
  mkdir "$root/sys/fs/cgroup/systemd"
  mount -t cgroup -o none,name=systemd systemd "$root/sys/fs/cgroup/systemd"
fi
for folder in run tmp dev; do mount -t tmpfs tmpfs "$root/$folder"; done
mkdir "$root"/dev/{pts,shm}
mount -t devpts devpts "$root/dev/pts"
mount -t tmpfs tmpfs "$root/dev/shm"
for device in null zero full random urandom tty fuse; do
  [[ -e "/dev/$device" ]] || continue
  touch "$root/dev/$device"
  mount --bind "/dev/$device" "$root/dev/$device"
done

# The guest runs none of the host's services except the journal.
units=$root/etc/systemd/system
rm -rf "${units:?}"/*.wants "$units/default.target"
cat >"$units/default.target" <<'UNIT'
[Unit]
Description=The test
Requires=systemd-journald.socket
Wants=guest.service
UNIT
cat >"$units/guest.service" <<'UNIT'
[Service]
Type=oneshot
ExecStart=/usr/bin/python3 -B /guest.py
ExecStopPost=/usr/bin/systemctl poweroff -ff
StandardOutput=append:/result/guest.log
StandardError=append:/result/guest.log
UNIT

cd "$root"
pivot_root . host
umount -l /host
exec env -i container=test PATH=/usr/local/bin:/usr/bin:/usr/sbin:/bin:/sbin \
  /lib/systemd/systemd --log-target=console
