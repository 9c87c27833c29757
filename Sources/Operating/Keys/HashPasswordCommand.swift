import ArgumentParser
import Cryptography
import Glibc
import Vocabulary

/// An entry in a file of users.
enum UserEntry {
    /// Returns a YAML list element. The name is quoted, because it may contain any character. A name with `@` is also
    /// the user's email address.
    static func text(of name: String, hash: String, groups: [String] = []) -> String {
        let quoted = String(decoding: JSONText.encode(.string(name)), as: UTF8.self)
        var traits = name.contains("@") ? ["email: \(quoted)"] : []
        if !groups.isEmpty { traits.append("groups: [\(groups.joined(separator: ", "))]") }
        let line = traits.isEmpty ? "" : "\n  traits: {\(traits.joined(separator: ", "))}"
        return "- identifier: \(quoted)\n  password_hash: \"\(hash)\"\(line)"
    }
}

/// `sallyport hash-password`: prints the `password_hash` of a user in the settings.
struct HashPasswordCommand: ParsableCommand {
    /// The maximum length of a password in bytes, as in the static provider.
    private static let longest = 1024

    static let configuration = CommandConfiguration(
        commandName: "hash-password",
        abstract: "Print the scrypt hash of a password, for password_hash of a static user.",
        discussion: """
            On a terminal it asks for the password twice without showing it. Otherwise the password is the first line of \
            standard input. With --user it prints the user's whole entry, which you can append to users.yaml.
            """
    )

    @Option(help: ArgumentHelp("What the user types at sign-in: an email address or a name.", valueName: "name"))
    var user: String?

    func validate() throws {
        guard self.user.map({ UserIdentifier($0) != nil }) ?? true else {
            throw ValidationError("--user must be 1 to \(UserIdentifier.longest) bytes without control characters.")
        }
    }

    func run() throws {
        try PrivateFileFailure.reported {
            let password = try self.password()
            guard (1...Self.longest).contains(password.count) else {
                let count = password.count > Self.longest ? "more than \(Self.longest)" : "\(password.count)"
                throw PrivateFileFailure("the password has \(count) bytes, but only 1 to \(Self.longest) are allowed")
            }
            // Browsers and apps send UTF-8. A password in another encoding would never match.
            guard String(validating: password, as: UTF8.self) != nil else {
                throw PrivateFileFailure("the password is not UTF-8: set the terminal or file to UTF-8")
            }
            let hash = String(decoding: Scrypt.hash(password: password).bytes, as: UTF8.self)
            Console.say(self.user.map { UserEntry.text(of: $0, hash: hash) } ?? hash)
        }
    }

    private func password() throws -> [UInt8] {
        guard isatty(STDIN_FILENO) == 1 else { return Self.firstLine() }
        let first = try Self.ask("Password: ")
        guard try Self.ask("Again: ") == first else { throw PrivateFileFailure("the two passwords differ") }
        return first
    }

    /// Returns the first line of standard input. Stops reading if the line is too long.
    private static func firstLine() -> [UInt8] {
        var line: [UInt8] = []
        while line.count <= Self.longest + 1 {
            let byte = getchar()
            if byte == EOF || byte == UInt8(ascii: "\n") { break }
            line.append(UInt8(truncatingIfNeeded: byte))
        }
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        return line
    }

    private static func ask(_ prompt: String) throws -> [UInt8] {
        guard let answer = getpass(prompt) else { throw PrivateFileFailure.system("the terminal cannot be read") }
        return Array(String(cString: answer).utf8)
    }
}
