import ArgumentParser
import Glibc
import JOSE
import Vocabulary

/// `sallyport dpop-proof`: makes a proof for one request, for tests with curl.
struct DPoPProofCommand: ParsableCommand {
    /// The maximum length of a key file in bytes. Keys in PEM are much shorter.
    private static let longestKey = 65_536

    static let configuration = CommandConfiguration(
        commandName: "dpop-proof",
        abstract: "Print a DPoP proof (RFC 9449) for one request, to try out endpoints and routes.",
        discussion: """
            A key file that does not exist is created: EC P-256 in PEM, mode 0600. Each proof is valid for one request \
            and for about five minutes. If the first answer is use_dpop_nonce, make another proof with the value of its \
            DPoP-Nonce field.

            curl -H "Authorization: DPoP $TOKEN" \
            -H "DPoP: $(sallyport dpop-proof --key k.pem --method GET --url $URL --token-file token)" $URL
            """
    )

    @Option(help: ArgumentHelp("The file with the private key.", valueName: "file"), completion: .file())
    var key: String

    @Option(help: ArgumentHelp("The method of the request.", valueName: "name"))
    var method: String = "GET"

    @Option(help: ArgumentHelp("The URL of the request.", valueName: "url"))
    var url: String?

    @Option(
        name: .customLong("token-file"),
        help: ArgumentHelp(
            "The file with the access token of the request (- for standard input). Without it the proof is for the token endpoint.",
            valueName: "file"
        ),
        completion: .file()
    )
    var tokenFile: String?

    @Option(
        help: ArgumentHelp(
            "The last DPoP-Nonce of the server. Attach it with = if it begins with -.",
            valueName: "text"
        )
    )
    var nonce: String?

    @Flag(help: "Print the thumbprint of the key (dpop_jkt, cnf.jkt) instead of a proof.")
    var thumbprint = false

    func validate() throws {
        if self.thumbprint { return }
        guard let url = self.url else { throw ValidationError("Add --url, or --thumbprint.") }
        guard url.hasPrefix("https://") || url.hasPrefix("http://") else {
            throw ValidationError("--url must begin with https:// or http://.")
        }
    }

    func run() throws {
        try PrivateFileFailure.reported {
            let maker = DPoPProofMaker(try self.signingKey())
            guard !self.thumbprint, let url = self.url else {
                Console.say(maker.thumbprint)
                return
            }
            let proof = maker.proof(
                method: self.method,
                url: url,
                accessToken: try self.token(),
                nonce: self.nonce,
                at: Clock.system.now()
            )
            Console.say(proof)
        }
    }

    /// Returns the key in the file. If the file does not exist, creates it with a new key.
    private func signingKey() throws -> SigningKey {
        guard access(self.key, F_OK) == 0 else {
            let key = SigningKey.generated(.es256)
            try PrivateFile.make(at: self.key, with: key.pem.bytes)
            return key
        }
        do {
            return try SigningKey(pem: Secret(Self.content(self.key, limit: Self.longestKey)))
        } catch let error as JOSEError {
            throw PrivateFileFailure("\(self.key): \(error.detail)")
        }
    }

    /// Returns the access token, without line breaks at its end; `nil` without `--token-file`.
    private func token() throws -> Secret? {
        guard let file = self.tokenFile else { return nil }
        var token = try Self.content(file, limit: Console.longestToken)
        while let last = token.last, last == UInt8(ascii: "\n") || last == UInt8(ascii: "\r") { token.removeLast() }
        guard !token.isEmpty else {
            throw PrivateFileFailure("\(file == "-" ? "standard input" : file) contains no access token")
        }
        return Secret(token)
    }

    private static func content(_ path: String, limit: Int) throws -> [UInt8] {
        guard let bytes = Console.read(path, atMost: limit + 1) else {
            throw PrivateFileFailure("\(path) cannot be read")
        }
        guard bytes.count <= limit else { throw PrivateFileFailure("\(path) has more than \(limit) bytes") }
        return bytes
    }
}
