/* noudev.c: a libudev without devices, for programs linked with -static.
 *
 * libhwloc.a calls libudev to name disks. No static libudev exists on Debian, and Weft never asks
 * for disks. udev_new() fails here, which hwloc takes as "no udev on this machine" and reads what
 * it needs from sysfs. Linked into fully static programs only: elsewhere it would replace the
 * real library for the whole process.
 */

struct udev;
struct udev_device;

struct udev *udev_new(void);
struct udev *udev_unref(struct udev *udev);
struct udev_device *udev_device_new_from_subsystem_sysname(struct udev *udev, const char *subsystem,
                                                           const char *name);
const char *udev_device_get_property_value(struct udev_device *device, const char *key);
struct udev_device *udev_device_unref(struct udev_device *device);

struct udev *udev_new(void) { return 0; }

struct udev *udev_unref(struct udev *udev) {
  (void)udev;
  return 0;
}

struct udev_device *udev_device_new_from_subsystem_sysname(struct udev *udev, const char *subsystem,
                                                           const char *name) {
  (void)udev, (void)subsystem, (void)name;
  return 0;
}

const char *udev_device_get_property_value(struct udev_device *device, const char *key) {
  (void)device, (void)key;
  return 0;
}

struct udev_device *udev_device_unref(struct udev_device *device) {
  (void)device;
  return 0;
}
