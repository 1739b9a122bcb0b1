//! The known projects of a user.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    thread,
    time::SystemTime,
};

use ralph_core::ledger::{Known, Ledger, Presence, Registry};

/// A folder with projects, and a registry beside them.
struct Place {
    folder: tempfile::TempDir,
    registry: Registry,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let registry = Registry::at(folder.path().join("state/projects"));
        Self { folder, registry }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn entry(&self, id: &str) -> PathBuf {
        self.path(&format!("state/projects/{id}.json"))
    }

    fn project(&self, name: &str) -> Known {
        fs::create_dir_all(self.path(name).join("ralph-loop")).unwrap();
        self.register(name)
    }

    fn register(&self, name: &str) -> Known {
        let root = self.path(name);
        self.registry.register(&Ledger::at(root.join("ralph-loop")), &root).unwrap()
    }

    /// Names, places and whether they are there.
    fn told(&self) -> Vec<(String, String, Presence)> {
        let start = fs::canonicalize(self.folder.path()).unwrap();
        let place = |known: &Known| known.root.strip_prefix(&start).unwrap().display().to_string();
        let known = self.registry.projects().unwrap();
        known.iter().map(|known| (known.name().to_owned(), place(known), known.state)).collect()
    }
}

fn row(name: &str, place: &str, state: Presence) -> (String, String, Presence) {
    (name.to_owned(), place.to_owned(), state)
}

fn copy(from: &Path, to: &Path) {
    assert!(std::process::Command::new("cp").arg("-R").args([from, to]).status().unwrap().success());
}

fn changed(path: &Path) -> SystemTime {
    fs::metadata(path).unwrap().modified().unwrap()
}

#[test]
fn a_project_is_known_once() {
    let place = Place::new();
    assert_eq!(place.registry.projects().unwrap(), []);
    assert!(!place.path("state").exists(), "looking makes nothing");
    let first = place.project("web");
    assert_eq!((first.id.len(), first.name(), first.state), (16, "web", Presence::Present));
    let held = fs::read_to_string(place.path("web/ralph-loop/state/project")).unwrap();
    assert_eq!(held, format!("{}\n", first.id));
    let (entry, project) = (place.entry(&first.id), place.path("web/ralph-loop/state/project"));
    let before = (changed(&entry), changed(&project), changed(entry.parent().unwrap()));
    assert_eq!(place.register("web"), first);
    assert_eq!((changed(&entry), changed(&project), changed(entry.parent().unwrap())), before, "nothing is written");
    let second = place.project("api");
    assert_ne!(second.id, first.id);
    assert_eq!(place.registry.projects().unwrap(), [second, first]);
    assert_eq!(place.registry.trouble(), Vec::<String>::new());
    // Another program of the same user sees the same.
    let other = Registry::at(place.path("state/projects"));
    assert_eq!(other.projects().unwrap(), place.registry.projects().unwrap());
}

#[test]
fn a_project_that_moved_is_known_by_its_new_place() {
    let place = Place::new();
    let first = place.project("web");
    fs::rename(place.path("web"), place.path("site")).unwrap();
    assert_eq!(place.told(), [row("web", "web", Presence::Gone)], "nobody has looked yet, and it is not forgotten");
    let moved = place.register("site");
    assert_eq!((moved.id, moved.state), (first.id, Presence::Present));
    assert_eq!(place.told(), [row("site", "site", Presence::Present)]);
}

#[test]
fn a_copy_becomes_a_project_of_its_own() {
    let place = Place::new();
    let first = place.project("web");
    fs::create_dir(place.path("copies")).unwrap();
    copy(&place.path("web"), &place.path("copies"));
    let second = place.register("copies/web");
    assert_ne!(second.id, first.id);
    assert_eq!(place.register("web"), first, "the first one keeps its own");
    assert_eq!(place.register("copies/web"), second);
    let both = [row("web-2", "copies/web", Presence::Present), row("web", "web", Presence::Present)];
    assert_eq!(place.told(), both);
    // The control: where the first one is gone, what looks like a copy is the project that moved.
    copy(&place.path("web"), &place.path("moved"));
    fs::remove_dir_all(place.path("web")).unwrap();
    assert_eq!(place.register("moved").id, first.id);
    // So it is where another project has come to its place.
    copy(&place.path("moved"), &place.path("again"));
    fs::remove_dir_all(place.path("moved")).unwrap();
    let stranger = place.project("moved");
    assert_ne!(stranger.id, first.id);
    assert_eq!(place.register("again").id, first.id);
}

#[cfg(unix)]
#[test]
fn two_ways_to_one_folder_are_one_project() {
    let place = Place::new();
    let first = place.project("web");
    std::os::unix::fs::symlink(place.path("web"), place.path("link")).unwrap();
    assert_eq!(place.register("link"), first);
    assert_eq!(place.told().len(), 1);
}

/// A second control folder in one repository is a project too.
#[test]
fn a_copied_control_folder_is_another_project() {
    let place = Place::new();
    let first = place.project("web");
    copy(&place.path("web/ralph-loop"), &place.path("web/other-loop"));
    let root = place.path("web");
    let second = place.registry.register(&Ledger::at(root.join("other-loop")), &root).unwrap();
    assert_ne!(second.id, first.id);
    assert_eq!((first.name(), second.name()), ("web", "web-2"));
}

#[test]
fn names_are_stable() {
    let place = Place::new();
    for (path, name) in
        [("b/web", "web"), ("a/web", "web-2"), ("c/web-2", "web-2-2"), ("d/WEB", "WEB-3"), ("e/a b:c\u{1b}", "a-b-c-")]
    {
        assert_eq!(place.project(path).name(), name);
    }
    let before = place.told();
    // Who goes does not change what the others are called, and is called the same when it comes back.
    fs::rename(place.path("b"), place.path("away")).unwrap();
    let names = |told: &[(String, String, Presence)]| told.iter().map(|(name, ..)| name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&place.told()), names(&before));
    assert_eq!(place.project("f/web").name(), "web-4");
    assert_eq!(place.register("away/web").name(), "web");
    // A hand that gives two the same name makes neither of them the other.
    let all = place.registry.projects().unwrap();
    let of = |name: &str| all.iter().find(|known| known.name() == name).unwrap();
    let entry = place.entry(&of("web-2").id);
    let text = fs::read_to_string(&entry).unwrap();
    fs::write(&entry, text.replace("\"web-2\"", "\"web\"")).unwrap();
    let told: BTreeSet<String> = names(&place.told()).into_iter().collect();
    assert_eq!(told.len(), all.len());
    assert!(!told.contains("web") && told.contains(&format!("web-{}", of("web").id)), "{told:?}");
}

#[test]
fn what_is_gone_stays_known_until_it_is_forgotten() {
    let place = Place::new();
    let (gone, other, lost) = (place.project("gone"), place.project("other"), place.project("lost"));
    fs::remove_dir_all(place.path("gone")).unwrap();
    fs::write(place.path("other/ralph-loop/state/project"), "0123456789abcdef\n").unwrap();
    fs::remove_dir_all(place.path("lost/ralph-loop/state")).unwrap();
    for _ in 0..2 {
        assert!(place.told().iter().all(|(_, _, state)| *state == Presence::Gone), "{:?}", place.told());
    }
    for id in [&gone.id, &gone.id, "0000000000000000", "../web", ""] {
        place.registry.forget(id).unwrap();
    }
    let left: Vec<_> = place.registry.projects().unwrap().into_iter().map(|known| known.id).collect();
    assert_eq!(left, [lost.id, other.id]);
}

#[test]
fn damaged_entries_are_kept_aside() {
    let place = Place::new();
    let (one, two, new) = (place.project("one"), place.project("two"), place.project("new"));
    fs::write(place.entry(&one.id), "{").unwrap();
    fs::copy(place.entry(&two.id), place.entry("0123456789abcdef")).unwrap();
    fs::create_dir(place.path("state/projects/folder.json")).unwrap();
    let later = fs::read_to_string(place.entry(&new.id)).unwrap().replace("\"format\": 1", "\"format\": 2");
    fs::write(place.entry(&new.id), &later).unwrap();
    assert_eq!(place.registry.projects().unwrap(), std::slice::from_ref(&two));
    let told = place.registry.trouble().join("\n");
    for part in [
        format!("{}.json.damaged-1", one.id),
        format!("it holds the project {:?}; it is now", two.id),
        "folder.json: it is a folder; it is now".to_owned(),
        format!("{}.json has format 2", new.id),
    ] {
        assert!(told.contains(&part), "{told}");
    }
    assert_eq!(place.registry.trouble().len(), 4);
    // What was damaged comes back when it is used; what is newer is not written over.
    assert_eq!(place.register("one").id, one.id);
    let root = place.path("new");
    assert!(place.registry.register(&Ledger::at(root.join("ralph-loop")), &root).is_err());
    assert_eq!(fs::read_to_string(place.entry(&new.id)).unwrap(), later);
    // An id that is none is replaced, and kept.
    fs::write(place.path("two/ralph-loop/state/project"), "../../x\n").unwrap();
    assert_ne!(place.register("two").id, two.id);
    assert!(place.path("two/ralph-loop/state/project.damaged-1").exists());
}

#[cfg(unix)]
#[test]
fn odd_files_are_neither_followed_nor_waited_for() {
    let place = Place::new();
    let one = place.project("one");
    let pipe = |path: &Path| assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
    pipe(&place.entry("0123456789abcdef"));
    std::os::unix::fs::symlink(place.entry(&one.id), place.entry("fedcba9876543210")).unwrap();
    assert_eq!(place.registry.projects().unwrap(), std::slice::from_ref(&one));
    assert_eq!(place.registry.trouble().len(), 2, "{:?}", place.registry.trouble());
    let project = place.path("one/ralph-loop/state/project");
    fs::remove_file(&project).unwrap();
    pipe(&project);
    assert_eq!(place.told(), [row("one", "one", Presence::Gone)]);
    assert_ne!(place.register("one").id, one.id);
}

#[test]
fn many_register_at_once() {
    let place = Place::new();
    for number in 0..4 {
        fs::create_dir_all(place.path(&format!("{number}/web/ralph-loop"))).unwrap();
    }
    let known: Vec<Known> = thread::scope(|scope| {
        let place = &place;
        let threads: Vec<_> = (0..8)
            .map(|number| {
                scope.spawn(move || {
                    let registry = Registry::at(place.path("state/projects"));
                    let root = place.path(&format!("{}/web", number % 4));
                    let known = registry.register(&Ledger::at(root.join("ralph-loop")), &root).unwrap();
                    assert_eq!(registry.trouble(), Vec::<String>::new());
                    known
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let all = place.registry.projects().unwrap();
    assert_eq!(all.len(), 4);
    assert!(known.iter().all(|known| all.contains(known)), "{known:?}");
    let names: BTreeSet<&str> = all.iter().map(Known::name).collect();
    assert_eq!(names, ["web", "web-2", "web-3", "web-4"].into());
}

#[test]
fn what_is_not_there_cannot_be_registered() {
    let place = Place::new();
    let root = place.path("nowhere");
    assert!(place.registry.register(&Ledger::at(root.join("ralph-loop")), &root).is_err());
    assert!(!place.path("state").exists());
}
