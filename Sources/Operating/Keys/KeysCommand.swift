import ArgumentParser
import Cryptography
import Endpoints
import Sessions
import Settings
import Vocabulary

/// `sallyport keys`: makes the secret, and rotates it without downtime.
///
/// A new secret is first accepted by all gateways (`add`), then used (`promote`). The old secret is removed when
/// nothing made with it is left (`retire`).
struct KeysCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys",
        abstract: "Make the secret, and rotate it without ending any session.",
        discussion: """
            A rotation has three steps: add, promote, retire. After each step, copy the file to every gateway and \
            restart the gateways one by one. Each step prints what to do next and when. Secrets are never printed.

            rotate-signing is separate: it replaces the key in the store that signs id_tokens.
            """,
        subcommands: [
            MakeKeys.self, AddKey.self, PromoteKey.self, RetireKeys.self, ListKeys.self, RotateSigningKey.self,
        ]
    )
}

/// The file argument of all key commands.
struct SecretFileArgument: ParsableArguments {
    @Argument(help: ArgumentHelp("The file in secret_file.", valueName: "file"), completion: .file())
    var file: String
}

/// `sallyport keys make FILE`: makes a file with a new secret.
struct MakeKeys: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "make",
        abstract: "Make a new file with one secret and mode 0600. An existing file is never overwritten."
    )

    @OptionGroup var place: SecretFileArgument

    func run() throws {
        let secret = SecretFile(.generated(besides: []))
        try PrivateFileFailure.reported {
            try PrivateFile.make(at: self.place.file, with: secret.bytes)
        }
        Console.say(
            """
            made \(self.place.file): key \(TokenAuthority.keyID(of: secret.ring.current)) signs and seals
            next: set secret_file or SALLYPORT_SECRET_FILE of every gateway to this file, the same for all; only the \
            gateway's user should be able to read it
            """
        )
    }
}

/// `sallyport keys add FILE`: adds a secret that is accepted but not used.
struct AddKey: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Step 1 of a rotation: add a secret that is accepted, but not used yet."
    )

    @OptionGroup var place: SecretFileArgument

    func run() throws {
        try KeysStep.change(self.place.file) { file in
            let secret = Secret.generated(besides: file.ring.all)
            guard file.add(secret) else {
                throw PrivateFileFailure(
                    file.entries.contains(where: \.isWaiting)
                        ? "another secret is already waiting: promote it first with `sallyport keys promote \(self.place.file)`"
                        : "there are \(file.entries.count) secrets: remove old ones first with `sallyport keys retire`"
                )
            }
            return """
                added key \(TokenAuthority.keyID(of: secret)), which is not used yet; \(TokenAuthority.keyID(of: file.ring.current)) still signs and seals
                next: copy this file to every gateway and restart each; only when all of them run with it:
                  sallyport keys promote \(self.place.file)
                if apps verify X-Auth-Assertion, wait \(KeysStep.settling) more before that: they cache the keys of \
                jwks.json (for \(KeysStep.maxAge)), and must know the new key before it signs
                """
        }
    }
}

/// `sallyport keys promote FILE`: makes the added secret sign and seal.
struct PromoteKey: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "promote",
        abstract: "Step 2: sign and seal with the added secret. The other secrets stay accepted."
    )

    @OptionGroup var place: SecretFileArgument

    func run() throws {
        try KeysStep.change(self.place.file) { file in
            let former = TokenAuthority.keyID(of: file.ring.current)
            guard file.promote() else {
                throw PrivateFileFailure(
                    "no secret is waiting: add one first with `sallyport keys add \(self.place.file)`"
                )
            }
            return """
                key \(TokenAuthority.keyID(of: file.ring.current)) now signs and seals; \(former) stays accepted
                next: copy this file to every gateway and restart each, in any order
                then wait until all earlier sessions have ended: session.native.absolute (90d by default) or \
                session.absolute, whichever is longer, after the last restart; then:
                  sallyport keys retire \(self.place.file)
                """
        }
    }
}

/// `sallyport keys retire FILE`: removes all secrets except the one that signs.
struct RetireKeys: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retire",
        abstract:
            "Step 3: remove every secret that does not sign. Tokens and sessions made with the removed ones are refused from then on."
    )

    @OptionGroup var place: SecretFileArgument

    func run() throws {
        try KeysStep.change(self.place.file) { file in
            let dropped = file.retire().map { TokenAuthority.keyID(of: $0) }
            guard !dropped.isEmpty else { throw PrivateFileFailure("there is only one secret, and it signs") }
            return """
                removed \(dropped.joined(separator: ", ")); \(TokenAuthority.keyID(of: file.ring.current)) still signs and seals
                next: copy this file to every gateway and restart each; sessions and tokens of removed keys then end
                """
        }
    }
}

/// `sallyport keys list FILE`: prints the id and use of each secret.
struct ListKeys: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Print the ids of the keys, as tokens contain them, and what each is used for."
    )

    @OptionGroup var place: SecretFileArgument

    func run() throws {
        try PrivateFileFailure.reported {
            let file = try KeysStep.read(PrivateFile(at: self.place.file), self.place.file)
            for (index, entry) in file.entries.enumerated() {
                let use = index == 0 ? "signs and seals" : entry.isWaiting ? "accepted, waits for promote" : "accepted"
                Console.say("\(TokenAuthority.keyID(of: entry.secret))  \(use)")
            }
        }
    }
}

/// What the key commands have in common.
enum KeysStep {
    /// How long clients may cache the published keys, as text.
    static let maxAge = "\(KeySetEndpoints.maxAge.components.seconds / 60) minutes"
    static let settling = "\(KeySetEndpoints.settlingTime.components.seconds / 60) minutes"

    /// Changes the file at `path`. Prints the text that `change` returns.
    static func change(_ path: String, _ change: (inout SecretFile) throws -> String) throws {
        try PrivateFileFailure.reported {
            let place = try PrivateFile(at: path)
            var file = try self.read(place, path)
            let text = try change(&file)
            try place.replace(with: file.bytes)
            Console.say(text)
        }
    }

    static func read(_ place: borrowing PrivateFile, _ path: String) throws(PrivateFileFailure) -> SecretFile {
        let bytes = try place.read(limit: SecretFile.maxBytes)
        do throws(SecretFile.Fault) {
            return try SecretFile(bytes)
        } catch {
            throw PrivateFileFailure("\(path) holds \(error.found): \(error.fix)")
        }
    }
}

extension Secret {
    /// Makes a secret of 384 random bits in base64url. Its key id differs from the key ids of `others`, because tokens
    /// name their secret by the key id.
    static func generated(besides others: [Secret]) -> Secret {
        let taken = Set(others.map { TokenAuthority.keyID(of: $0) })
        while true {
            let secret = Secret(Random.base64URL(48))
            if !taken.contains(TokenAuthority.keyID(of: secret)) { return secret }
        }
    }
}
