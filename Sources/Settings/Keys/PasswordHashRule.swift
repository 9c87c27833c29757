import Vocabulary

extension TextRule {
    /// A password hash. `Scrypt.isWellFormed` and `Bcrypt.isWellFormed` check the same limits.
    static let passwordHash = TextRule(
        "password hash",
        allowed: "scrypt:N:r:p:salt:hash, $scrypt$ln=14,r=8,p=5$salt$hash, $argon2id$v=19$m=65536,t=3,p=4$salt$hash, "
            + "or of bcrypt $2b$12$ and 53 characters",
        pattern: "^scrypt:[0-9]{1,9}:[0-9]{1,2}:[0-9]{1,2}:[A-Za-z0-9_-]{11,}:[A-Za-z0-9_-]{43,}$"
            + "|^[$]scrypt[$]ln=[0-9]{1,2},r=[0-9]{1,2},p=[0-9]{1,2}[$][A-Za-z0-9+/]{11,}[$][A-Za-z0-9+/]{43,}$"
            + "|^[$]argon2id?([$]v=(16|19))?[$]m=[0-9]{4,6},t=[0-9]{1,4},p=[0-9]{1,2}"
            + "[$][A-Za-z0-9+/]{11,86}[$][A-Za-z0-9+/]{22,86}$"
            + "|^[$]2[aby][$][0-9]{2}[$][A-Za-z0-9./]{53}$"
    ) { text throws(SyntaxFault) in
        if text.hasPrefix("$2") {
            try Self.checkBcrypt(text)
        } else if text.hasPrefix("$argon2") {
            try Self.checkArgon2(text)
        } else {
            try Self.checkScrypt(text)
        }
        return .secret(text)
    }

    private static func checkBcrypt(_ text: String) throws(SyntaxFault) {
        let parts = text.split(separator: "$", omittingEmptySubsequences: false)
        guard parts.count == 4, ["2a", "2b", "2y"].contains(parts[1]), parts[3].utf8.count == 53,
            parts[3].utf8.allSatisfy({ $0.isAlphanumeric || "./".utf8.contains($0) })
        else {
            throw SyntaxFault(
                "a bcrypt hash is $2a$, $2b$ or $2y$, the cost, $, and 53 letters, digits, dots or slashes"
            )
        }
        guard parts[2].utf8.count == 2, let cost = try? Quantity.integer(String(parts[2].drop(while: { $0 == "0" }))),
            (4...16).contains(cost)
        else {
            throw SyntaxFault("choose a cost from 04 to 16: each step doubles the time of a sign-in, e.g. $2b$12$...")
        }
    }

    private static func checkArgon2(_ text: String) throws(SyntaxFault) {
        do throws(Argon2Hash.Flaw) {
            _ = try Argon2Hash(text)
        } catch {
            throw SyntaxFault(error.fix)
        }
    }

    private static func checkScrypt(_ text: String) throws(SyntaxFault) {
        guard let parts = ScryptParts(text) else {
            throw SyntaxFault("write what `sallyport hash-password` prints, never the password itself")
        }
        let isBase64 = [parts.salt, parts.hash].allSatisfy { part in
            part.utf8.allSatisfy { $0.isAlphanumeric || parts.signs.contains($0) } && part.utf8.count % 4 != 1
        }
        // In base64, 8 bytes of salt have 11 characters, and 32 bytes of hash have 43.
        guard isBase64, (11...171).contains(parts.salt.utf8.count), (43...171).contains(parts.hash.utf8.count) else {
            throw SyntaxFault("give 8 bytes of salt or more and 32 bytes of hash or more, in base64 without padding")
        }
        var costs = parts.costs.compactMap { (try? Quantity.integer(String($0))) ?? nil }
        if parts.isPHC, let ln = costs.first { costs[0] = (1...24).contains(ln) ? 1 << ln : 0 }
        guard costs.count == 3, (2...(1 << 24)).contains(costs[0]), costs[0] & (costs[0] - 1) == 0,
            (1...64).contains(costs[1]), (1...64).contains(costs[2])
        else {
            throw SyntaxFault(
                "use a power of two for N, and numbers from 1 to 64 for r and p, e.g. scrypt:16384:8:5:..."
            )
        }
        let memory = 128 * costs[0] * costs[1]
        guard memory >= 1 << 20, memory <= 256 << 20, memory * costs[2] <= 1 << 30 else {
            throw SyntaxFault(
                "choose N and r so that 128*N*r is between 1MiB and 256MiB, e.g. scrypt:16384:8:5:..."
            )
        }
    }
}

/// The parts of a scrypt hash, written with colons or as a PHC string.
private struct ScryptParts {
    /// True for a PHC string: its first cost is the logarithm of N, and salt and hash are in standard base64.
    let isPHC: Bool
    let costs: [Substring]
    let salt: Substring
    let hash: Substring

    /// Splits a hash into its parts; `nil` if the text has neither form.
    init?(_ text: String) {
        let own = text.split(separator: ":", omittingEmptySubsequences: false)
        let phc = text.split(separator: "$", omittingEmptySubsequences: false)
        if own.count == 6, own[0] == "scrypt" {
            self.isPHC = false
            self.costs = Array(own[1...3])
            self.salt = own[4]
            self.hash = own[5]
        } else if phc.count == 5, phc[0].isEmpty, phc[1] == "scrypt" {
            let (costs, names) = (phc[2].split(separator: ",", omittingEmptySubsequences: false), ["ln=", "r=", "p="])
            guard costs.count == 3, zip(costs, names).allSatisfy({ $0.hasPrefix($1) }) else { return nil }
            self.isPHC = true
            self.costs = zip(costs, names).map { $0.dropFirst($1.count) }
            self.salt = phc[3]
            self.hash = phc[4]
        } else {
            return nil
        }
    }

    /// The characters of the base64 alphabet that are neither letters nor digits.
    var signs: String.UTF8View { (self.isPHC ? "+/" : "-_").utf8 }
}
