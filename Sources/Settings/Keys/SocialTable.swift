import Vocabulary

extension Section {
    static let nativeSocial = Section(
        [
            SettingsKey("google", .section(.google), "Google's id_tokens (google-id-token)."),
            SettingsKey("apple", .section(.apple), "Apple's authorization codes (apple-authz-code)."),
            SettingsKey(
                "facebook",
                .section(.facebook),
                "Facebook's session-info access tokens (facebook-info-session-access-token)."
            ),
        ],
        isOption: true
    )

    static let google = Section(
        [
            SettingsKey(
                "audiences",
                .list(.text(.registeredID)),
                required: true,
                "The web client ids for which apps request tokens (aud). A token for another id is rejected, because it was meant for another service."
            ),
            SettingsKey(
                "authorized_parties",
                at: \GoogleSettings.authorizedParties,
                .list(.text(.registeredID)),
                default: "none",
                "The client ids of the Android and iOS apps (azp), which are accepted in addition to audiences."
            ),
            SettingsKey(
                "issuers",
                at: \GoogleSettings.issuers,
                .list(.text(.text)),
                "The accepted values of iss. Google uses both."
            ),
            SettingsKey("jwks_url", at: \GoogleSettings.keysURL, .text(.providerURL), "The URL of Google's keys."),
        ],
        isOption: true
    )

    static let apple = Section(
        [
            SettingsKey(
                "bundle_ids",
                .list(.text(.bundleID)),
                required: true,
                "The apps whose codes are redeemed. If there are several, each client needs its bundle id."
            ),
            SettingsKey(
                "team_id",
                .text(.appleID),
                required: true,
                "The id of the developer team, which issues the client secret."
            ),
            SettingsKey("key_id", .text(.appleID), required: true, "The id of the key for Sign in with Apple."),
            SettingsKey(
                "private_key_file",
                .path(isSecret: true),
                required: true,
                "The key for Sign in with Apple, as the .p8 file from Apple. It signs a short-lived client secret for every call."
            ),
            SettingsKey("token_url", at: \AppleSettings.tokenURL, .text(.providerURL), "The URL that redeems codes."),
            SettingsKey("jwks_url", at: \AppleSettings.keysURL, .text(.providerURL), "The URL of Apple's keys."),
            SettingsKey(
                "issuer",
                at: \AppleSettings.issuer,
                .text(.issuer),
                "The iss of Apple's id_tokens, and the audience of the client secret."
            ),
        ],
        isOption: true
    )

    static let facebook = Section(
        [
            SettingsKey(
                "app_id",
                .text(.number),
                required: true,
                "The id of the app at Facebook. A token for another app is rejected."
            ),
            SettingsKey(
                "app_secret_file",
                .path(isSecret: true),
                required: true,
                "A file with the app's secret, with which the gateway verifies tokens."
            ),
            SettingsKey(
                "debug_url",
                at: \FacebookSettings.debugURL,
                .text(.providerURL),
                "The URL that verifies tokens and returns their users."
            ),
        ],
        isOption: true
    )
}

/// Rules for the keys of `native_social`.
extension TextRule {
    /// The bundle id of an app, or a Services ID.
    static let bundleID = TextRule(
        "bundle id",
        allowed: "a bundle id such as com.example.app: letters, digits, - and dots",
        pattern: "^[A-Za-z0-9.-]{1,155}$",
        fix: "copy it from the app's identifier at Apple, without the team id in front of it"
    ) { text in
        (1...155).contains(text.utf8.count) && text.utf8.allSatisfy { $0.isUnreserved && $0 != 0x5F && $0 != 0x7E }
    }

    /// The id of a team or of a key at Apple.
    static let appleID = TextRule(
        "Apple id",
        allowed: "10 capital letters and digits, such as A1B2C3D4E5",
        pattern: "^[A-Z0-9]{10}$",
        fix: "copy it from the developer account"
    ) { text in
        text.utf8.count == 10
            && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) }
    }

    /// An id that consists of digits. In YAML it is written in quotes.
    static let number = TextRule(
        "number",
        allowed: "1 to 32 digits",
        pattern: "^[0-9]{1,32}$",
        fix: "write the digits only"
    ) { text in
        (1...32).contains(text.utf8.count) && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
    }
}
