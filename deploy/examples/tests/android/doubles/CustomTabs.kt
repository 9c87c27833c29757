@file:Suppress("UNUSED_PARAMETER")

package androidx.browser.customtabs

import android.content.Context
import android.net.Uri
import say

class CustomTabsIntent {
    class Builder {
        fun build() = CustomTabsIntent()
    }

    fun launchUrl(context: Context, url: Uri) = say("browser" to url.toString())
}
