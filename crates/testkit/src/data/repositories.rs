//! Repositories as the GitHub REST API sends them, compact: about 6 KB and 80 members each, most of them URLs.

use std::fmt::Write as _;

use super::random::{Random, WORDS};

const OWNER_URLS: [&str; 9] = [
    "followers",
    "following{/other_user}",
    "gists{/gist_id}",
    "starred{/owner}{/repo}",
    "subscriptions",
    "orgs",
    "repos",
    "events{/privacy}",
    "received_events",
];

const REPOSITORY_URLS: [(&str, &str); 37] = [
    ("forks_url", "/forks"),
    ("keys_url", "/keys{/key_id}"),
    ("collaborators_url", "/collaborators{/collaborator}"),
    ("teams_url", "/teams"),
    ("hooks_url", "/hooks"),
    ("issue_events_url", "/issues/events{/number}"),
    ("events_url", "/events"),
    ("assignees_url", "/assignees{/user}"),
    ("branches_url", "/branches{/branch}"),
    ("tags_url", "/tags"),
    ("blobs_url", "/git/blobs{/sha}"),
    ("git_tags_url", "/git/tags{/sha}"),
    ("git_refs_url", "/git/refs{/sha}"),
    ("trees_url", "/git/trees{/sha}"),
    ("statuses_url", "/statuses/{sha}"),
    ("languages_url", "/languages"),
    ("stargazers_url", "/stargazers"),
    ("contributors_url", "/contributors"),
    ("subscribers_url", "/subscribers"),
    ("subscription_url", "/subscription"),
    ("commits_url", "/commits{/sha}"),
    ("git_commits_url", "/git/commits{/sha}"),
    ("comments_url", "/comments{/number}"),
    ("issue_comment_url", "/issues/comments{/number}"),
    ("contents_url", "/contents/{+path}"),
    ("compare_url", "/compare/{base}...{head}"),
    ("merges_url", "/merges"),
    ("archive_url", "/{archive_format}{/ref}"),
    ("downloads_url", "/downloads"),
    ("issues_url", "/issues{/number}"),
    ("pulls_url", "/pulls{/number}"),
    ("milestones_url", "/milestones{/number}"),
    ("notifications_url", "/notifications{?since,all,participating}"),
    ("labels_url", "/labels{/name}"),
    ("releases_url", "/releases{/id}"),
    ("deployments_url", "/deployments"),
    ("url", ""),
];

/// Appends one repository.
pub(super) fn repository(text: &mut String, random: &mut Random) {
    let owner = random.pick(&["harbour-labs", "mira-okafor", "north-quay"]);
    let name = format!("{}-{}-{}", random.pick(&WORDS), random.pick(&WORDS), random.below(1000));
    let id = 100_000_000 + random.below(800_000_000);
    let api = format!("https://api.github.com/repos/{owner}/{name}");
    let html = format!("https://github.com/{owner}/{name}");
    let user = format!("https://api.github.com/users/{owner}");
    let user_id = 1_000_000 + random.below(90_000_000);
    let private = random.below(8) == 0;
    let mut put = |line: std::fmt::Arguments<'_>| text.write_fmt(line).expect("a String takes all");
    put(format_args!(
        r#"{{"id":{id},"node_id":"R_kgDO{id:x}","name":"{name}","full_name":"{owner}/{name}","private":{private},"owner":{{"login":"{owner}","id":{user_id},"node_id":"MDQ6VXNlcj{user_id:x}","avatar_url":"https://avatars.githubusercontent.com/u/{user_id}?v=4","gravatar_id":"","url":"{user}","html_url":"https://github.com/{owner}""#
    ));
    for url in OWNER_URLS {
        let key = url.split('{').next().unwrap_or(url);
        put(format_args!(r#","{key}_url":"{user}/{url}""#));
    }
    put(format_args!(
        r#","type":"User","user_view_type":"public","site_admin":false}},"html_url":"{html}","#
    ));
    match random.below(5) {
        0 => put(format_args!(r#""description":null,"#)),
        1 => put(format_args!(
            r#""description":"{} for {} — émission en série, 日本語 {}","#,
            random.pick(&WORDS),
            random.pick(&WORDS),
            random.below(100)
        )),
        _ => put(format_args!(
            r#""description":"A {} {} that keeps the {} of every {} in one place, without ceremony","#,
            random.pick(&WORDS),
            random.pick(&WORDS),
            random.pick(&WORDS),
            random.pick(&WORDS)
        )),
    }
    put(format_args!(r#""fork":{}"#, random.below(4) == 0));
    for (key, path) in REPOSITORY_URLS {
        put(format_args!(r#","{key}":"{api}{path}""#));
    }
    let (created, updated, pushed) = (random.date(), random.date(), random.date());
    put(format_args!(
        r#","created_at":"{created}","updated_at":"{updated}","pushed_at":"{pushed}","git_url":"git://github.com/{owner}/{name}.git","ssh_url":"git@github.com:{owner}/{name}.git","clone_url":"{html}.git","svn_url":"{html}","homepage":{}"#,
        random.pick(&["null", "\"\"", "\"https://tamis.example\""])
    ));
    let (stars, forks, issues) = (random.below(50_000), random.below(900), random.below(300));
    put(format_args!(
        r#","size":{},"stargazers_count":{stars},"watchers_count":{stars},"language":{},"has_issues":true,"has_projects":true,"has_downloads":true,"has_wiki":{},"has_pages":false,"has_discussions":{},"forks_count":{forks},"mirror_url":null,"archived":{},"disabled":false,"open_issues_count":{issues}"#,
        random.below(200_000),
        random.pick(&["null", "\"Rust\"", "\"Go\"", "\"TypeScript\"", "\"C++\""]),
        random.below(2) == 0,
        random.below(3) == 0,
        random.below(9) == 0,
    ));
    put(format_args!(
        r#","license":{},"allow_forking":true,"is_template":false,"web_commit_signoff_required":false,"topics":["{}","{}"],"visibility":"{}","forks":{forks},"open_issues":{issues},"watchers":{stars},"default_branch":"{}","permissions":{{"admin":false,"maintain":false,"push":false,"triage":false,"pull":true}}}}"#,
        random.pick(&["null", r#"{"key":"mit","name":"MIT License","spdx_id":"MIT","url":"https://api.github.com/licenses/mit","node_id":"MDc6TGljZW5zZTEz"}"#]),
        random.pick(&WORDS),
        random.pick(&WORDS),
        if private { "private" } else { "public" },
        random.pick(&["main", "master", "trunk"]),
    ));
}
