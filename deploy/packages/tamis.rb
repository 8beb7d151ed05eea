# Made by .ci/packages for a tap: `brew install TAP/tamis`.
class Tamis < Formula
  desc "Streaming filter for tool output, for language models and shells"
  homepage "@HOME@"
  version "@VERSION@"
  license any_of: ["MIT", "Apache-2.0"]

  on_macos do
    on_arm do
      url "@URL aarch64-apple-darwin@"
      sha256 "@SHA256 aarch64-apple-darwin@"
    end
    on_intel do
      url "@URL x86_64-apple-darwin@"
      sha256 "@SHA256 x86_64-apple-darwin@"
    end
  end

  on_linux do
    on_arm do
      url "@URL aarch64-unknown-linux-musl@"
      sha256 "@SHA256 aarch64-unknown-linux-musl@"
    end
    on_intel do
      url "@URL x86_64-unknown-linux-musl@"
      sha256 "@SHA256 x86_64-unknown-linux-musl@"
    end
  end

  def install
    # `tamis mcp` starts the binary next to it.
    bin.install "tamis", "tamis-gateway"
    bash_completion.install "completions/tamis.bash" => "tamis"
    zsh_completion.install "completions/_tamis"
    fish_completion.install "completions/tamis.fish"
    man1.install Dir["man/*.1"]
    doc.install "README.md", "CHANGELOG.md", "THIRD-PARTY.txt"
  end

  test do
    assert_equal "[{\"id\":1}]", pipe_output("#{bin}/tamis filter --select id", "[{\"id\":1,\"x\":2}]").strip
    assert_match version.to_s, shell_output("#{bin}/tamis-gateway --version")
  end
end
