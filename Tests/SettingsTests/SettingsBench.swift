import Foundation
import Settings

/// Text that no message may contain.
let canary = "c4n4rySecretThatNobodyMaySee0123456789abcdef"
let passwordHash = "scrypt:16384:8:5:AAAAAAAAAAAAAAAAAAAAAA:\(canary)"

/// Loads settings from texts instead of files.
struct SettingsBench {
    var files: [String: [UInt8]] = [
        "/etc/sallyport/secret": Array("\(canary)\n".utf8),
        "/etc/sallyport/web-app.secret": Array(canary.utf8),
        "/etc/sallyport/web-app.jwks.json": Array(#"{"keys": []}"#.utf8),
        "/etc/sallyport/app-password": Array(canary.utf8),
        "/etc/sallyport/proxy.secret": Array(canary.utf8),
        "/etc/sallyport/ca.pem": [],
        "/etc/sallyport/client.pem": [],
        "/etc/sallyport/client.key": [],
        "/etc/sallyport/provider.key": Array(
            "-----BEGIN PRIVATE KEY-----\n\(canary)\n-----END PRIVATE KEY-----\n".utf8
        ),
        "/etc/sallyport/provider.secret": Array("\(canary)\n".utf8),
        "/etc/sallyport/apple.p8": Array("-----BEGIN PRIVATE KEY-----\n\(canary)\n-----END PRIVATE KEY-----\n".utf8),
        "/etc/sallyport/operator-tokens": Array("ops read,sessions \(String(repeating: "0a", count: 32))\n".utf8),
        "/etc/sallyport/facebook.secret": Array("\(canary)\n".utf8),
        "/var/lib/sallyport/GeoLite2-ASN.mmdb": [],
        "/var/lib/sallyport/GeoLite2-City.mmdb": [],
        "/etc/sallyport/users.yaml": Array("- identifier: ada\n  password_hash: \(passwordHash)\n".utf8),
    ]
    var flags = InsecureFlags()
    var environment: [String: String] = [:]
    var judges = SettingsJudges()
    /// Whether the files that the settings name are not asked for.
    var lacksFiles = false
    /// The paths of files that every user can read.
    var openToAll: Set<String> = []
    /// What is wrong with sockets, by their paths.
    var socketFaults: [String: SocketFault] = [:]

    static let path = "/etc/sallyport/sallyport.yaml"

    /// The result of a file with `text`, or of no file.
    func load(_ text: String?) -> Result<LoadedSettings, SettingsFailure> {
        self.load(bytes: text.map { Array($0.utf8) })
    }

    func load(bytes: [UInt8]?) -> Result<LoadedSettings, SettingsFailure> {
        var files = self.files
        files[Self.path] = bytes
        let known = files
        let source = SettingsFiles(
            read: { path, limit throws(SettingsFiles.Fault) in
                guard let bytes = known[path] else { throw .absent }
                guard bytes.count <= limit else { throw SettingsFiles.Fault("a file that is too large") }
                return bytes
            },
            isReadable: { known[$0] != nil },
            isOpenToAll: { [openToAll = self.openToAll] in openToAll.contains($0) },
            socketFault: { [socketFaults = self.socketFaults] in socketFaults[$0] }
        )
        do throws(SettingsFailure) {
            return .success(
                try SettingsLoader.load(
                    file: bytes == nil ? nil : Self.path,
                    environment: self.environment,
                    flags: self.flags,
                    files: source,
                    lacksFiles: self.lacksFiles,
                    judges: self.judges
                )
            )
        } catch {
            return .failure(error)
        }
    }

    /// What is wrong with `text`; empty when nothing is.
    func problems(_ text: String?) -> [SettingsProblem] {
        switch self.load(text) {
        case .success: []
        case .failure(let failure): failure.problems
        }
    }

    /// What is wrong with the small file plus `text`.
    func problems(adding text: String) -> [SettingsProblem] { self.problems(Self.base + text) }

    /// The settings of the small file plus `text`; nil when it is refused.
    func settings(adding text: String) -> Settings? { try? self.load(Self.base + text).get().settings }

    /// A valid small file of seven lines.
    static let base = """
        public_url: https://app.example.com
        upstream: http://127.0.0.1:3000
        provider:
          static:
            users:
              - identifier: ada
                password_hash: \(passwordHash)

        """

    /// A valid small file with the keys of `provider` in YAML, and `more` after them.
    static func file(provider: String, _ more: String = "") -> String {
        "public_url: https://app.example.com\nupstream: http://127.0.0.1:3000\nprovider: \(provider)\n\(more)"
    }

    /// A file of `Config`.
    static func config(_ name: String) throws -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return try String(contentsOf: root.appending(path: "Config/\(name)"), encoding: .utf8)
    }
}

extension SettingsProblem {
    var line: Int? {
        guard case .file(_, let line, _) = self.origin else { return nil }
        return line
    }

    var column: Int? {
        guard case .file(_, _, let column) = self.origin else { return nil }
        return column
    }
}
