import ArgumentParser
import JOSE

/// `sallyport verify-jws`: verifies the signature of a token, for operators and test vectors.
struct VerifyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify-jws",
        abstract: "Verify the signature of a token on standard input and print its payload; exit status 0 or 1.",
        discussion: """
            The token is a JWS in compact form (RFC 7515), at most 8 KiB. Its payload goes to standard output byte by \
            byte. If it is refused, the reason goes to standard error and the exit status is 1. Claims such as exp are \
            not checked.

            The file holds a JWK Set, or one JWK (RFC 7517): public or private keys, or shared secrets for HS256, HS384 \
            and HS512, but not both. Keys that cannot verify signatures are left out. Do not verify with secrets from a \
            file that another party supplied.
            """
    )

    @Option(help: ArgumentHelp("The file with the keys.", valueName: "file"), completion: .file())
    var jwks: String

    @Option(
        help: ArgumentHelp(
            "An allowed algorithm, e.g. ES256. Repeatable. Default: all that fit a key in the file.",
            valueName: "name"
        )
    )
    var alg: [String] = []

    func validate() throws {
        for name in self.alg where JWSAlgorithm(rawValue: name) == nil {
            let names = JWSAlgorithm.allCases.map(\.rawValue).joined(separator: ", ")
            throw ValidationError("--alg must be one of \(names).")
        }
    }

    func run() throws {
        let allowed = self.alg.isEmpty ? nil : Set(self.alg.compactMap(JWSAlgorithm.init))
        do {
            let keys = try KeyFile(self.content())
            do throws(JOSEError) {
                let token = try keys.verify(Self.token(), allowing: allowed)
                Console.say(exactly: token.payload)
            } catch {
                for fault in keys.faults { Console.complain("left out: \(fault)") }
                throw error
            }
        } catch let error as JOSEError {
            throw Console.failure("refused: \(error.detail)")
        }
    }

    private func content() throws -> [UInt8] {
        if let bytes = Console.read(self.jwks, atMost: JOSELimits.keySet + 1) { return bytes }
        throw Console.failure("\(self.jwks) cannot be read")
    }

    /// Returns the token on standard input, without line breaks at its end.
    private static func token() -> [UInt8] {
        var token = Console.read("-", atMost: JOSELimits.token + 1024) ?? []
        while let last = token.last, last == UInt8(ascii: "\n") || last == UInt8(ascii: "\r") { token.removeLast() }
        return token
    }
}
