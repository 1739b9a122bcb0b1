//! How many git processes and looks at all files an accepted item costs.

use ralph_core::{Accepted, Caches, Cx, Vcs};

use crate::support::{CLEAN, Repo, WORK, place, seal, write};

/// Places, works, takes, judges, accepts: what each item of a plan costs once the run is warm.
#[tokio::test]
async fn an_accepted_item_costs_ten_processes_and_three_scans() {
    let repo = Repo::new();
    repo.commit(".gitignore", "target/\n");
    let (vcs, mut tip) = repo.begin().await;
    let mut costs = Vec::new();
    for number in 1..=3 {
        let (spawns, scans) = (vcs.spawns(), vcs.scans());
        let placed = place(&vcs, WORK, &tip).await;
        assert_eq!(placed.fresh, number == 1, "the cache stays");
        write(&placed.folder.join("src/lib.rs"), &format!("pub const N: u32 = {number};\n"));
        write(&placed.folder.join("target/debug/x"), "cache");
        let snapshot = vcs.snapshot(WORK, &tip, &seal(&format!("R{number}"), 1), &Cx::new()).await.unwrap();
        let revision = snapshot.revision.unwrap();
        let clean = vcs.place(CLEAN, &revision, Caches::Keep, &Cx::new()).await.unwrap();
        write(&clean.folder.join("target/debug/x"), "cache");
        assert_eq!(vcs.accept(&revision, &tip, &Cx::new()).await.unwrap(), Accepted::Landed);
        tip = revision;
        costs.push((vcs.spawns() - spawns, vcs.scans() - scans));
    }
    println!("git processes and scans of each item: {costs:?}");
    assert_eq!(costs.last(), Some(&(9, 3)));
}
