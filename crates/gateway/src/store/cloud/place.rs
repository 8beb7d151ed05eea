//! The place of a store in an object store: a URL, and settings of the environment.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey};
use object_store::path::Path;
use object_store::{BackoffConfig, ObjectStore, RetryConfig};

use super::connector::Connector;

/// The scheme of places.
const SCHEME: &str = "s3://";

/// A bucket and a prefix, with what is needed to reach them.
///
/// ```
/// use tamis_gateway::store::CloudPlace;
///
/// let settings = [("AWS_ENDPOINT_URL", "http://127.0.0.1:9000"), ("AWS_REGION", "eu-1")];
/// let place = CloudPlace::new("s3://results/tamis", settings)?;
/// assert_eq!(place.to_string(), "s3://results/tamis");
/// assert!(CloudPlace::new("s3:results", []).is_err());
/// # Ok::<(), tamis_gateway::store::CloudPlaceError>(())
/// ```
#[derive(Clone)]
pub struct CloudPlace {
    url: String,
    prefix: Path,
    objects: Arc<AmazonS3>,
}

impl CloudPlace {
    /// Reads a URL: `s3://BUCKET` or `s3://BUCKET/PREFIX`. `settings` are names and values as in the environment of the
    /// AWS tools, such as `AWS_ENDPOINT_URL`, `AWS_REGION` and `AWS_ACCESS_KEY_ID`. Other names are ignored.
    ///
    /// Nothing is sent. If no credentials are given, they are requested from the machine, as the AWS tools do.
    ///
    /// # Errors
    /// The URL or a setting cannot be used.
    pub fn new<'a>(
        url: &str,
        settings: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, CloudPlaceError> {
        let rest = url.strip_prefix(SCHEME).ok_or_else(|| CloudPlaceError::url(url))?;
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.is_empty() {
            return Err(CloudPlaceError::url(url));
        }
        let prefix = Path::parse(prefix).map_err(|_error| CloudPlaceError::url(url))?;
        let mut builder = AmazonS3Builder::new().with_bucket_name(bucket);
        let mut plain = false;
        for (name, value) in settings {
            let Some(key) = name.strip_prefix("AWS_").map(|_| name.to_ascii_lowercase()) else {
                continue;
            };
            let Ok(key) = key.parse::<AmazonS3ConfigKey>() else { continue };
            // The bucket is that of the URL.
            if matches!(key, AmazonS3ConfigKey::Bucket) {
                continue;
            }
            if matches!(key, AmazonS3ConfigKey::Endpoint | AmazonS3ConfigKey::S3Endpoint) {
                plain = value.starts_with("http:");
            }
            builder = builder.with_config(key, value);
        }
        let connector = Connector::new(plain).map_err(|error| {
            CloudPlaceError(format!("cannot read the certificates of the system: {error}"))
        })?;
        let retry = RetryConfig {
            backoff: BackoffConfig {
                init_backoff: Duration::from_millis(50),
                max_backoff: Duration::from_millis(500),
                base: 2.0,
            },
            max_retries: 1,
            retry_timeout: Duration::from_secs(5),
        };
        let objects = builder
            .with_allow_http(plain)
            .with_http_connector(connector)
            .with_retry(retry)
            // Not every server knows how to remove many objects at once.
            .with_disable_bulk_delete(true)
            .build()
            .map_err(|error| CloudPlaceError(format!("cannot use {url}: {error}")))?;
        Ok(Self { url: url.to_owned(), prefix, objects: Arc::new(objects) })
    }

    /// Reads a URL, with the settings of this process's environment.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn of_environment(url: &str) -> Result<Self, CloudPlaceError> {
        // Variables that are not Unicode cannot be settings.
        let all = std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        let all: Vec<(String, String)> = all.collect();
        Self::new(url, all.iter().map(|(name, value)| (name.as_str(), value.as_str())))
    }

    pub(super) fn objects(&self) -> (Arc<dyn ObjectStore>, Path) {
        (Arc::clone(&self.objects) as Arc<dyn ObjectStore>, self.prefix.clone())
    }
}

/// The URL, without credentials.
impl fmt::Display for CloudPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url)
    }
}

impl fmt::Debug for CloudPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CloudPlace").field(&self.url).finish()
    }
}

/// The error of a place that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CloudPlaceError(String);

impl CloudPlaceError {
    fn url(url: &str) -> Self {
        Self(format!("expected s3://BUCKET or s3://BUCKET/PREFIX, not `{}`", url.escape_debug()))
    }
}

impl fmt::Display for CloudPlaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for CloudPlaceError {}
