import Vocabulary

extension SettingsBuilder {
    // MARK: Native social sign-in

    mutating func nativeSocial() -> NativeSocialSettings? {
        guard let tree = self.tree.tree("native_social") else { return nil }
        let settings = NativeSocialSettings(
            google: tree.tree("google").flatMap { self.google($0) },
            apple: tree.tree("apple").flatMap { self.apple($0) },
            facebook: tree.tree("facebook").flatMap { self.facebook($0) }
        )
        if tree.entries.isEmpty, !self.isPartial {
            self.report(
                tree.place,
                found: "an empty mapping",
                allowed: "one or more of google, apple and facebook",
                fix: "add one, or remove native_social"
            )
        }
        let provider = self.tree.tree("provider") ?? self.tree.trees("providers").first
        for (name, _) in provider?.entries ?? [] {
            guard let section = provider?.tree(name), section["allow"] != nil else { continue }
            self.warnings.append(
                "\(section.key).allow does not apply to native_social: everybody with an account there can sign in"
            )
        }
        return settings
    }

    private mutating func google(_ tree: SettingsTree) -> GoogleSettings? {
        self.reportMissingKeys(of: tree, in: .google)
        let audiences = self.someTexts("audiences", of: tree)
        _ = self.someTexts("issuers", of: tree)
        guard let audiences else { return nil }
        var settings = GoogleSettings(audiences: audiences)
        tree.set(.google, in: &settings)
        return settings
    }

    private mutating func apple(_ tree: SettingsTree) -> AppleSettings? {
        self.reportMissingKeys(of: tree, in: .apple)
        let bundleIDs = self.someTexts("bundle_ids", of: tree)
        let privateKey = self.appleKey(tree)
        guard let bundleIDs, let privateKey, let teamID = tree.text("team_id"), let keyID = tree.text("key_id") else {
            return nil
        }
        var settings = AppleSettings(bundleIDs: bundleIDs, teamID: teamID, keyID: keyID, privateKey: privateKey)
        tree.set(.apple, in: &settings)
        return settings
    }

    private mutating func appleKey(_ tree: SettingsTree) -> Secret? {
        guard let pem = self.secret("private_key_file", of: tree) else { return nil }
        guard let fault = self.judges.p256Key(pem) else { return pem }
        self.report(
            tree.place(of: "private_key_file"),
            found: "a file that cannot be used: \(fault)",
            allowed: "the .p8 file of a key for Sign in with Apple",
            fix: "make a key in the developer account and download it; Apple hands it out once"
        )
        return nil
    }

    private mutating func facebook(_ tree: SettingsTree) -> FacebookSettings? {
        self.reportMissingKeys(of: tree, in: .facebook)
        let secret = self.secret("app_secret_file", of: tree)
        if let secret, !secret.bytes.allSatisfy({ (0x21...0x7E).contains($0) }) {
            self.report(
                tree.place(of: "app_secret_file"),
                found: "a secret with other characters than visible ASCII",
                allowed: "a file with the app's secret on one line",
                fix: "copy the secret alone, without spaces and further lines"
            )
        }
        guard let appID = tree.text("app_id"), let secret else { return nil }
        var settings = FacebookSettings(appID: appID, appSecret: secret)
        tree.set(.facebook, in: &settings)
        return settings
    }
}
