//! Finds the article of a page with dom_smoothie, in a bounded worker thread.
//!
//! The input is HTML that [`strip`](super::strip) wrote: its size, elements and depth are bounded, so that the work
//! ends. HTML parsers and searches over their trees recurse, and may take long on a page made for that purpose.
//! Therefore the thread has its own stack, and the caller only waits for a limited time. A late thread ends on its own;
//! the number of threads is limited.

use std::sync::mpsc::sync_channel;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use dom_smoothie::{Config, Readability};

use super::outline::NUMBER;

/// The size of the thread's stack in bytes.
const STACK: usize = 32 << 20;
/// How long the caller waits for the thread. The search does not count steps, so only a clock can bound it. The
/// results of a fuzzer must not depend on a clock, so there the limit is an hour, which is more than the work takes.
const PATIENCE: Duration = Duration::from_secs(if cfg!(any(test, fuzzing)) { 3600 } else { 10 });
/// The maximum number of threads at a time, including late ones. A further caller waits until one of them ends.
const THREADS: usize = 16;
/// How many elements the parser may add to those of the text.
const ELEMENTS: usize = 20 * super::ARTICLE_NODES;

static RUNNING: Mutex<usize> = Mutex::new(0);
static ENDED: Condvar = Condvar::new();

/// A counter stays valid when a thread panics, so poisoning is ignored.
fn running() -> MutexGuard<'static, usize> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The article that was found.
#[derive(Debug)]
pub(super) struct Article {
    pub(super) title: String,
    /// The numbers of the blocks that it has.
    pub(super) blocks: Vec<usize>,
}

/// Holds one of the places for threads.
struct Place;

impl Place {
    /// Waits for a place, so that the result does not depend on other pages that are read at the same time.
    fn take(patience: Duration) -> Option<Self> {
        let full = |running: &mut usize| *running >= THREADS;
        let waited = ENDED.wait_timeout_while(running(), patience, full);
        let (mut running, waited) = waited.unwrap_or_else(PoisonError::into_inner);
        if waited.timed_out() {
            return None;
        }
        *running += 1;
        Some(Self)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        *running() -= 1;
        ENDED.notify_one();
    }
}

/// Finds the article of a page. Returns `None` if there is no article, or none was found in time.
pub(super) fn find(html: String) -> Option<Article> {
    find_within(html, PATIENCE)
}

fn find_within(html: String, patience: Duration) -> Option<Article> {
    let until = Instant::now() + patience;
    let place = Place::take(patience)?;
    let (sender, receiver) = sync_channel(1);
    let thread = std::thread::Builder::new().name("tamis-article".to_owned()).stack_size(STACK);
    let spawned = thread.spawn(move || {
        let _place = place;
        // The caller may have stopped waiting.
        _ = sender.send(read(html));
    });
    spawned.ok()?;
    // A thread that panicked has dropped its sender.
    receiver.recv_timeout(until.saturating_duration_since(Instant::now())).ok().flatten()
}

fn read(html: String) -> Option<Article> {
    let config = Config {
        max_elements_to_parse: ELEMENTS,
        disable_json_ld: true,
        keep_classes: true,
        ..Config::default()
    };
    let article = Readability::new(html, None, Some(config)).ok()?.parse().ok()?;
    Some(Article { title: article.title, blocks: numbers(&article.content) })
}

/// Returns the numbers of the blocks in the HTML of an article. A text that looks like such a number only keeps a block of
/// the page.
fn numbers(html: &str) -> Vec<usize> {
    let before = format!("{NUMBER}=\"");
    memchr::memmem::find_iter(html.as_bytes(), before.as_bytes())
        .filter_map(|at| {
            let rest = html.get(at + before.len()..)?;
            rest.get(..memchr::memchr(b'"', rest.as_bytes())?)?.parse().ok()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{NUMBER, Place, THREADS, find, find_within};

    fn page(paragraphs: usize) -> String {
        let text = "Tides rise and fall, and the almanac says when, in a table for each harbour. "
            .repeat(6);
        let body: String = (0..paragraphs)
            .map(|number| format!("<p {NUMBER}=\"{}\">{text}</p>", number + 2))
            .collect();
        format!("<html><head><title>Tides</title></head><body><div>{body}</div></body></html>")
    }

    #[test]
    fn an_article_is_found() {
        let article = find(page(5)).unwrap();
        assert_eq!(article.title, "Tides");
        assert_eq!(article.blocks, [2, 3, 4, 5, 6]);
    }

    #[test]
    fn one_more_waits_for_a_place() {
        let places: Vec<_> = std::iter::repeat_with(|| Place::take(super::PATIENCE).unwrap())
            .take(THREADS)
            .collect();
        assert!(find_within(page(1), Duration::from_millis(1)).is_none());
        let found = std::thread::spawn(|| find(page(5)));
        std::thread::sleep(Duration::from_millis(50));
        drop(places);
        assert!(found.join().unwrap().is_some());
    }

    #[test]
    fn no_article_is_found_without_time() {
        assert!(find_within(page(2000), Duration::ZERO).is_none());
    }
}
