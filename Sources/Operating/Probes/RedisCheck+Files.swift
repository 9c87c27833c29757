import Glibc
package import RedisStore
import Vocabulary

/// Checks of the PEM files in the URL.
extension RedisCheck {
    /// Returns the faults that make PEM files unusable, and what to do.
    package static func faults(inFilesOf tls: RedisConfiguration.TLS) -> [Verdict] {
        let files: [(name: String, path: String?, what: String, holds: (String) -> Bool)] = [
            ("ca", tls.authorityFile, "certificate", { !RedisDiagnosis.certificates(inFile: $0).isEmpty }),
            ("cert", tls.certificateFile, "certificate", { !RedisDiagnosis.certificates(inFile: $0).isEmpty }),
            ("key", tls.keyFile, "key", { RedisDiagnosis.isKey(file: $0) }),
        ]
        let faults = files.compactMap { name, path, what, holds -> Verdict? in
            guard let path else { return nil }
            guard access(path, R_OK) == 0 else {
                return Self.fault("\(name)= of the URL is no file that this user can read: \(path)")
            }
            return holds(path)
                ? nil : Self.fault("\(name)= of the URL is a file without a \(what) in PEM: \(path)")
        }
        guard faults.isEmpty, let certificate = tls.certificateFile, let key = tls.keyFile,
            !RedisDiagnosis.isKey(file: key, ofCertificateIn: certificate)
        else { return faults }
        return [Self.fault("key= of the URL is not the key of the certificate in cert=")]
    }

    /// Returns a verdict for each file whose certificate has expired or is not valid yet.
    func judgeFiles() -> [Verdict] {
        let now = Clock.system.now()
        return [("ca", self.configuration.tls?.authorityFile), ("cert", self.configuration.tls?.certificateFile)]
            .compactMap { name, file -> Verdict? in
                let all = file.map { RedisDiagnosis.certificates(inFile: $0) } ?? []
                // Of several authorities, one valid authority suffices. In a chain, the first certificate is the
                // gateway's own.
                let judged = name == "ca" ? all : Array(all.prefix(1))
                if let last = judged.map(\.until).max(), last < now {
                    return Self.fault("the certificate in \(name)= of the URL expired on \(last.day)")
                }
                if let first = judged.map(\.from).min(), first > now {
                    let finding = "the certificate in \(name)= of the URL is valid only from \(first.day)"
                    return Self.fault("\(finding): is this machine's clock right?")
                }
                return nil
            }
    }

    private static func fault(_ finding: String) -> Verdict { .error("certificates", finding) }
}

extension UnixTime {
    /// The date in UTC, e.g. `2026-11-30`.
    var day: String { String(self.rfc3339.prefix(10)) }
}
