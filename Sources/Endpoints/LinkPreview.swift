/// The programs of messengers and social networks that open a link to show a preview of its page. They fetch it like a
/// browser without Fetch Metadata, and must not use up a transfer token that is meant for the user who follows the link.
package enum LinkPreview {
    /// Parts of their `User-Agent`. No browser names itself so, those inside these apps included.
    private static let names: [[UInt8]] = [
        "Slackbot", "Twitterbot", "facebookexternalhit", "WhatsApp/", "TelegramBot", "Discordbot", "LinkedInBot",
        "SkypeUriPreview", "redditbot", "Pinterestbot", "Mattermost-Bot", "Iframely", "Embedly", "vkShare",
        "BingPreview",
    ].map { Array($0.utf8) }

    /// Whether a name begins with a byte.
    private static let begins: [Bool] = (UInt8.min...UInt8.max).map { byte in
        Self.names.contains { $0.first == byte }
    }

    /// Whether one of them sent the request.
    package static func isFetch(userAgent: some Collection<UInt8>) -> Bool {
        let bytes = Array(userAgent.prefix(512))
        return bytes.indices.contains { place in
            self.begins[Int(bytes[place])] && self.names.contains { bytes[place...].starts(with: $0) }
        }
    }
}
