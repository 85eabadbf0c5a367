//! A rewritten session is a new file. It must not be readable by more people than the old one, nor by fewer: a session
//! that its agent can no longer open is as lost as one with missing bytes.

use rustix::fs::XattrFlags;
use std::fs::{File, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};

/// The extended attribute in which Linux keeps an access control list.
const ACL: &str = "system.posix_acl_access";

/// Longest list of names and longest value that are copied, in bytes: the limits of Linux.
const LONGEST: usize = 64 * 1024;

/// Gives `to` the owner, group and mode of `from`, and as far as the system allows its extended attributes, access
/// control lists among them.
///
/// # Errors
/// When owner, group or mode cannot be had. Attributes that cannot be copied are left out.
pub(crate) fn copy(from: &File, to: &File) -> io::Result<()> {
    let (old, new) = (from.metadata()?, to.metadata()?);
    if (old.uid(), old.gid()) != (new.uid(), new.gid()) {
        fchown(to, Some(old.uid()), Some(old.gid()))?;
    }
    // A list inherited from the folder would come into force with the mode.
    let _ = rustix::fs::fremovexattr(to, ACL);
    // After the owner, whose change can clear bits.
    to.set_permissions(Permissions::from_mode(old.mode() & 0o7777))?;
    copy_extended(from, to);
    Ok(())
}

/// Whether both have the same owner, group and mode.
pub(crate) fn same(a: &File, b: &File) -> io::Result<bool> {
    let (a, b) = (a.metadata()?, b.metadata()?);
    Ok((a.uid(), a.gid(), a.mode()) == (b.uid(), b.gid(), b.mode()))
}

fn copy_extended(from: &File, to: &File) {
    let mut names = vec![0; LONGEST];
    let mut value = vec![0; LONGEST];
    let Ok(len) = rustix::fs::flistxattr(from, names.as_mut_slice()) else {
        return;
    };
    for name in names.get(..len).unwrap_or_default().split(|b| *b == 0).filter(|name| !name.is_empty()) {
        let name = std::ffi::OsStr::from_bytes(name);
        let Ok(len) = rustix::fs::fgetxattr(from, name, value.as_mut_slice()) else {
            continue;
        };
        // What only the system or an administrator may set is not ours to carry over.
        let _ = rustix::fs::fsetxattr(to, name, value.get(..len).unwrap_or_default(), XattrFlags::empty());
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn mode_and_attributes_are_those_of_the_other() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (File::create(dir.path().join("a")).unwrap(), File::create(dir.path().join("b")).unwrap());
        from.set_permissions(Permissions::from_mode(0o640)).unwrap();
        to.set_permissions(Permissions::from_mode(0o600)).unwrap();
        let supported = rustix::fs::fsetxattr(&from, "user.note", b"kept", XattrFlags::empty()).is_ok();
        assert!(!same(&from, &to).unwrap());
        copy(&from, &to).unwrap();
        assert!(same(&from, &to).unwrap());
        if supported {
            let mut value = [0; 16];
            let len = rustix::fs::fgetxattr(&to, "user.note", &mut value).unwrap();
            assert_eq!(value.get(..len), Some(&b"kept"[..]));
        }
    }
}
