import Vocabulary

/// Converts authentication methods to the values that are registered for `amr` (RFC 8176 2), for use in id_tokens only.
enum RegisteredMethods {
    /// The registered values for the names that the gateway and Kratos use.
    private static let values = [
        "password": "pwd", "totp": "otp", "code": "otp", "lookup_secret": "otp", "webauthn": "hwk", "passkey": "pop",
    ]

    /// Returns the value of each method once, or the method's name if no value is registered. Adds `mfa` if several
    /// methods led to `aal2` or higher.
    static func names(of methods: [String], level: AssuranceLevel?) -> [String] {
        var names: [String] = []
        for method in methods.map({ Self.values[$0] ?? $0 }) where !names.contains(method) { names.append(method) }
        let isMultiple = methods.count > 1 && level.map { $0 >= .aal2 } == true
        return isMultiple && !names.contains("mfa") ? names + ["mfa"] : names
    }
}
