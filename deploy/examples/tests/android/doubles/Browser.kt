package androidx.browser.auth

import android.content.Intent
import android.net.Uri
import androidx.activity.ComponentActivity
import androidx.activity.result.ActivityResultLauncher
import say

class AuthTabIntent {
    class AuthResult(val resultCode: Int, val resultUri: Uri?)

    class Builder {
        fun build() = AuthTabIntent()
    }

    fun launch(launcher: ActivityResultLauncher<Intent>, url: Uri, scheme: String) {
        check(launcher === Companion.launcher)
        say("browse" to url.toString(), "until" to "$scheme:")
    }

    fun launch(launcher: ActivityResultLauncher<Intent>, url: Uri, host: String, path: String) {
        check(launcher === Companion.launcher)
        say("browse" to url.toString(), "until" to "https://$host$path")
    }

    companion object {
        const val RESULT_OK = -1
        const val RESULT_CANCELED = 0
        const val RESULT_VERIFICATION_FAILED = 2
        const val RESULT_VERIFICATION_TIMED_OUT = 3
        lateinit var callback: (AuthResult) -> Unit
        private val launcher = ActivityResultLauncher<Intent>()

        @Suppress("UNUSED_PARAMETER")
        fun registerActivityResultLauncher(
            activity: ComponentActivity, callback: (AuthResult) -> Unit,
        ): ActivityResultLauncher<Intent> {
            this.callback = callback
            return launcher
        }
    }
}
