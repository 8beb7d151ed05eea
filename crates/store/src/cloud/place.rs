//! The place of a store in an object store: a URL, and settings of the environment.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::path::Path;
use object_store::{BackoffConfig, ObjectStore, RetryConfig};

use super::connector::Connector;

/// The services with object stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Provider {
    Amazon,
    Google,
    Azure,
}

/// The scheme of URLs, and how names of settings begin.
const PROVIDERS: [(&str, &str, Provider); 3] = [
    ("s3://", "AWS_", Provider::Amazon),
    ("gs://", "GOOGLE_", Provider::Google),
    ("az://", "AZURE_", Provider::Azure),
];

/// A bucket or container and a prefix, with what is needed to reach them.
///
/// ```
/// use tamis_store::CloudPlace;
///
/// let settings = [("AWS_ENDPOINT_URL", "http://127.0.0.1:9000"), ("AWS_REGION", "eu-1")];
/// let place = CloudPlace::new("s3://results/tamis", settings)?;
/// assert_eq!(place.to_string(), "s3://results/tamis");
/// assert!(CloudPlace::new("s3:results", []).is_err());
/// # Ok::<(), tamis_store::CloudPlaceError>(())
/// ```
#[derive(Clone)]
pub struct CloudPlace {
    url: String,
    prefix: Path,
    objects: Arc<dyn ObjectStore>,
    provider: Provider,
}

impl CloudPlace {
    /// Reads a URL. `settings` are names and values as in the environment of the service's own tools. Other names are
    /// ignored.
    ///
    /// | URL | service | settings, for example |
    /// |---|---|---|
    /// | `s3://BUCKET/PREFIX` | Amazon S3, and servers with its interface | `AWS_ENDPOINT_URL`, `AWS_REGION`, `AWS_ACCESS_KEY_ID` |
    /// | `gs://BUCKET/PREFIX` | Google Cloud Storage | `GOOGLE_APPLICATION_CREDENTIALS` |
    /// | `az://CONTAINER/PREFIX` | Azure Blob Storage | `AZURE_STORAGE_ACCOUNT_NAME`, `AZURE_STORAGE_ACCOUNT_KEY` |
    ///
    /// The prefix may be absent. Nothing is sent. If no credentials are given, they are requested from the machine, as
    /// the tools do.
    ///
    /// # Errors
    /// The URL or a setting cannot be used.
    pub fn new<'a>(
        url: &str,
        settings: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, CloudPlaceError> {
        let known = PROVIDERS.into_iter().find_map(|(scheme, start, provider)| {
            Some((url.strip_prefix(scheme)?, start, provider))
        });
        let (rest, start, provider) = known.ok_or_else(|| CloudPlaceError::url(url))?;
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.is_empty() {
            return Err(CloudPlaceError::url(url));
        }
        let prefix = Path::parse(prefix).map_err(|_error| CloudPlaceError::url(url))?;
        let settings = settings.into_iter().filter(|(name, _)| name.starts_with(start));
        let settings: Vec<(String, &str)> =
            settings.map(|(name, value)| (name.to_ascii_lowercase(), value)).collect();
        let objects = match provider {
            Provider::Amazon => amazon(url, bucket, &settings)?,
            Provider::Google => google(url, bucket, &settings)?,
            Provider::Azure => azure(url, bucket, &settings)?,
        };
        Ok(Self { url: url.to_owned(), prefix, objects, provider })
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
        (Arc::clone(&self.objects), self.prefix.clone())
    }

    /// Returns whether the last bytes of an object can be requested without its length. Azure needs the length.
    pub(super) fn reads_ends(&self) -> bool {
        self.provider != Provider::Azure
    }
}

fn amazon(
    url: &str,
    bucket: &str,
    settings: &[(String, &str)],
) -> Result<Arc<dyn ObjectStore>, CloudPlaceError> {
    let mut builder = AmazonS3Builder::new().with_bucket_name(bucket);
    let mut plain = false;
    for (key, value) in known(settings) {
        match key {
            // The bucket is that of the URL.
            AmazonS3ConfigKey::Bucket => continue,
            AmazonS3ConfigKey::Endpoint | AmazonS3ConfigKey::S3Endpoint => plain = is_plain(value),
            _ => {}
        }
        builder = builder.with_config(key, value);
    }
    // Not every server knows how to remove many objects at once.
    let builder = builder.with_allow_http(plain).with_disable_bulk_delete(true);
    let builder = builder.with_http_connector(connector(plain)?).with_retry(retry());
    let objects = builder.build().map_err(|error| CloudPlaceError::settings(url, &error))?;
    Ok(Arc::new(objects))
}

fn google(
    url: &str,
    bucket: &str,
    settings: &[(String, &str)],
) -> Result<Arc<dyn ObjectStore>, CloudPlaceError> {
    let mut builder = GoogleCloudStorageBuilder::new().with_bucket_name(bucket);
    let mut plain = false;
    for (key, value) in known(settings) {
        match key {
            GoogleConfigKey::Bucket => continue,
            GoogleConfigKey::BaseUrl => plain = is_plain(value),
            _ => {}
        }
        builder = builder.with_config(key, value);
    }
    let builder = builder.with_http_connector(connector(plain)?).with_retry(retry());
    let objects = builder.build().map_err(|error| CloudPlaceError::settings(url, &error))?;
    Ok(Arc::new(objects))
}

fn azure(
    url: &str,
    container: &str,
    settings: &[(String, &str)],
) -> Result<Arc<dyn ObjectStore>, CloudPlaceError> {
    let mut builder = MicrosoftAzureBuilder::new().with_container_name(container);
    let mut plain = false;
    for (key, value) in known(settings) {
        match key {
            AzureConfigKey::ContainerName => continue,
            AzureConfigKey::Endpoint => plain = is_plain(value),
            _ => {}
        }
        builder = builder.with_config(key, value);
    }
    let builder = builder.with_allow_http(plain);
    let builder = builder.with_http_connector(connector(plain)?).with_retry(retry());
    let objects = builder.build().map_err(|error| CloudPlaceError::settings(url, &error))?;
    Ok(Arc::new(objects))
}

/// Returns the settings that a service knows.
fn known<'a, K: FromStr>(settings: &'a [(String, &'a str)]) -> impl Iterator<Item = (K, &'a str)> {
    settings.iter().filter_map(|(name, value)| Some((name.parse().ok()?, *value)))
}

fn is_plain(endpoint: &str) -> bool {
    endpoint.starts_with("http:")
}

fn connector(plain: bool) -> Result<Connector, CloudPlaceError> {
    Connector::new(plain).map_err(|error| {
        CloudPlaceError(format!("cannot read the certificates of the system: {error}"))
    })
}

fn retry() -> RetryConfig {
    RetryConfig {
        backoff: BackoffConfig {
            init_backoff: Duration::from_millis(50),
            max_backoff: Duration::from_millis(500),
            base: 2.0,
        },
        max_retries: 1,
        retry_timeout: Duration::from_secs(3),
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
        let url = url.escape_debug();
        Self(format!(
            "expected s3://BUCKET, gs://BUCKET or az://CONTAINER with a prefix or without, not `{url}`"
        ))
    }

    fn settings(url: &str, error: &object_store::Error) -> Self {
        Self(format!("cannot use {url}: {error}"))
    }
}

impl fmt::Display for CloudPlaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for CloudPlaceError {}
