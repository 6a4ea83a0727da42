#include "os/quota.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "os/file.hpp"

namespace weft::rt {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

// v1: one hierarchy per controller, ours is "cpu". v2: one for all.
enum class Version { V1, V2 };

struct Mount {
  std::string root;   // the directory of the hierarchy that is mounted
  std::string point;  // where
};

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return parts;
}

bool list_contains(std::string_view list, std::string_view word) {
  const auto words = split(list, ',');
  return std::find(words.begin(), words.end(), word) != words.end();
}

// mountinfo writes space, tab, newline and backslash as three octal digits.
std::string unescape(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      plain +=
          static_cast<char>(std::strtol(std::string(text.substr(i + 1, 3)).c_str(), nullptr, 8));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

// /proc/self/cgroup: "<id>:<controllers>:<path>"; v2 is the line with id 0 and no controllers.
std::optional<std::string> our_cgroup(std::string_view lines, Version version) {
  for (const std::string_view line : split(lines, '\n')) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const bool ours = version == Version::V2 ? controllers.empty() && line.substr(0, first) == "0"
                                             : list_contains(controllers, "cpu");
    if (ours) return std::string(line.substr(second + 1));
  }
  return std::nullopt;
}

// /proc/self/mountinfo: "<id> <parent> <dev> <root> <point> <options> [tags] - <type> <source>
// <super options>".
std::optional<Mount> find_mount(std::string_view lines, Version version) {
  for (const std::string_view line : split(lines, '\n')) {
    const std::size_t dash = line.find(" - ");
    if (dash == line.npos || line.compare(dash + 3, 6, "cgroup") != 0) continue;
    const auto left = split(line.substr(0, dash), ' ');
    const auto right = split(line.substr(dash + 3), ' ');
    if (left.size() < 5 || right.size() < 3) continue;
    const bool ours = version == Version::V2
                          ? right[0] == "cgroup2"
                          : right[0] == "cgroup" && list_contains(right[2], "cpu");
    if (ours) return Mount{unescape(left[3]), unescape(left[4])};
  }
  return std::nullopt;
}

std::optional<double> read_number(std::string_view text) {
  const std::string copy(text);
  char* end = nullptr;
  const double number = std::strtod(copy.c_str(), &end);
  if (end == copy.c_str()) return std::nullopt;  // "max", or nothing
  return number;
}

double ratio(std::optional<double> quota, std::optional<double> period) {
  // v1 says -1 for "no limit".
  if (!quota || !period || *quota <= 0 || *period <= 0) return kNoLimit;
  return *quota / *period;
}

double limit_of(const std::string& directory, Version version) {
  if (version == Version::V2) {
    const std::string text = read_file(directory + "/cpu.max").value_or("");
    const auto fields = split(text, ' ');
    return fields.size() == 2 ? ratio(read_number(fields[0]), read_number(fields[1])) : kNoLimit;
  }
  const std::string quota = read_file(directory + "/cpu.cfs_quota_us").value_or("");
  if (quota.empty()) return kNoLimit;
  return ratio(read_number(quota),
               read_number(read_file(directory + "/cpu.cfs_period_us").value_or("")));
}

// Our directory below the mount point. A cgroup outside the mounted part (a container that was
// given a mount but no cgroup namespace) cannot be seen: then the mount point has to do.
std::string path_below(const Mount& mount, const std::string& cgroup) {
  const std::string root = mount.root == "/" ? "" : mount.root;
  const bool inside = cgroup.compare(0, root.size(), root) == 0 &&
                      (cgroup.size() == root.size() || cgroup[root.size()] == '/') &&
                      cgroup.find("/..") == std::string::npos;
  std::string below = inside ? cgroup.substr(root.size()) : "";
  if (below == "/") below.clear();
  return below;
}

double smallest_limit(const std::string& root, Version version, std::string_view cgroups,
                      std::string_view mounts) {
  const auto cgroup = our_cgroup(cgroups, version);
  const auto mount = find_mount(mounts, version);
  if (!cgroup || !mount) return kNoLimit;
  std::string below = path_below(*mount, *cgroup);
  double limit = limit_of(root + mount->point, version);
  while (!below.empty()) {
    limit = std::min(limit, limit_of(root + mount->point + below, version));
    below.resize(below.rfind('/'));  // it starts with '/', so this ends
  }
  return limit;
}

}  // namespace

double cpu_quota(const std::string& root) noexcept try {
  const std::string cgroups = read_file(root + "/proc/self/cgroup").value_or("");
  const std::string mounts = read_file(root + "/proc/self/mountinfo").value_or("");
  // Both at once on "hybrid" machines: then the cpu controller is in one of the two.
  return std::min(smallest_limit(root, Version::V1, cgroups, mounts),
                  smallest_limit(root, Version::V2, cgroups, mounts));
} catch (...) {
  return kNoLimit;  // out of memory: whoever asked finds out at its own next step
}

}  // namespace weft::rt
