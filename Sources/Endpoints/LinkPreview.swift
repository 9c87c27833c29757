/// The programs of messengers and social networks that fetch a link to show a preview. They must not use up a transfer
/// token meant for the user who follows the link.
package enum LinkPreview {
    /// Parts of the programs' `User-Agent` that no browser sends, not even the browsers inside these apps.
    private static let names: [[UInt8]] = [
        "Slackbot", "Twitterbot", "facebookexternalhit", "WhatsApp/", "TelegramBot", "Discordbot", "LinkedInBot",
        "SkypeUriPreview", "redditbot", "Pinterestbot", "Mattermost-Bot", "Iframely", "Embedly", "vkShare",
        "BingPreview",
    ].map { Array($0.utf8) }

    /// Indexed by byte: true if some name begins with the byte.
    private static let begins: [Bool] = (UInt8.min...UInt8.max).map { byte in
        Self.names.contains { $0.first == byte }
    }

    /// Returns whether a link preview program sent the request.
    package static func isFetch(userAgent: some Collection<UInt8>) -> Bool {
        let bytes = Array(userAgent.prefix(512))
        return bytes.indices.contains { place in
            self.begins[Int(bytes[place])] && self.names.contains { bytes[place...].starts(with: $0) }
        }
    }
}
