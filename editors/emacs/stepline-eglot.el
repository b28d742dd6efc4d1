;;; stepline-eglot.el --- GPU cost on each line of PyTorch training code -*- lexical-binding: t; -*-

;; Package-Requires: ((emacs "28.1") (eglot "1.9"))
;; Keywords: languages, tools

;;; Commentary:

;; Starts the language server of stepline in Python buffers through Eglot.  Findings are Flymake diagnostics, their fixes
;; `eglot-code-actions', the numbers of a line ElDoc's; line ends show GPU time where Eglot has inlay hints (Eglot 1.13, Emacs
;; 29).  Besides, what LSP has no word for: the run in the mode line, and commands for traces, hot lines and the report.
;;
;;   (require 'stepline-eglot)
;;   (add-hook 'python-mode-hook #'eglot-ensure)
;;
;; Eglot asks one server a buffer.  With `stepline-eglot-settings' the server's settings are set.

;;; Code:

(require 'cl-lib)
(require 'eglot)
(require 'grep)

(defgroup stepline-eglot nil
  "GPU cost on each line of PyTorch training code."
  :group 'eglot
  :prefix "stepline-eglot-")

(defcustom stepline-eglot-program "stepline"
  "The program stepline: a name on PATH or a file."
  :type 'string)

(defcustom stepline-eglot-settings nil
  "Settings of the server, a property list nested by their dots.
For example (:traces [\"runs/*.json.gz\"] :inlayHints (:threshold 0.005)).
They are read when the server starts."
  :type 'plist)

(defun stepline-eglot--contact (&rest _)
  "How Eglot starts the server."
  `(,stepline-eglot-program "lsp" ,@(when stepline-eglot-settings (list :initializationOptions stepline-eglot-settings))))

(add-to-list 'eglot-server-programs (cons '(python-mode python-ts-mode) #'stepline-eglot--contact))

;;;; The run in the mode line

(defvar stepline-eglot--statuses (make-hash-table :test #'eq :weakness 'key)
  "What each server has last said of its run.")

(declare-function eglot-inlay-hints-mode "eglot") ; since 1.13

;; The value may be quoted since Emacs 28, and Eglot of 28 does not.
(cl-defmethod eglot-handle-notification (server (_method (eql stepline/status)) &rest status &key &allow-other-keys)
  "Keep the STATUS of SERVER's run, for the mode line.
Show hints anew where it is another run."
  (let ((before (gethash server stepline-eglot--statuses)))
    (puthash server status stepline-eglot--statuses)
    (force-mode-line-update t)
    (unless (or (eq (plist-get status :loading) t) (equal (plist-get before :trace) (plist-get status :trace)))
      (stepline-eglot--ask-hints-again server))))

(defun stepline-eglot--ask-hints-again (server)
  "Have the inlay hints of SERVER's buffers asked for again.
Eglot does not know the server's request to do so."
  (dolist (buffer (buffer-list))
    (with-current-buffer buffer
      (when (and (bound-and-true-p eglot-inlay-hints-mode) (eq (eglot-current-server) server))
        (eglot-inlay-hints-mode -1)
        ;; Eglot does not ask twice in a row for one region.
        (set (make-local-variable 'eglot--outstanding-inlay-hints-last-region) nil)
        (eglot-inlay-hints-mode 1)))))

(defun stepline-eglot-duration (us)
  "Microseconds US for people: three digits and a unit."
  (cl-loop for (factor . unit) in '((1e6 . "s") (1e3 . "ms") (1 . "µs"))
           for value = (/ us (float factor))
           when (or (>= value 0.9995) (= factor 1))
           return (format (cond ((>= value 99.95) "%.0f %s") ((>= value 9.995) "%.1f %s") (t "%.2f %s")) value unit)))

(defun stepline-eglot-mode-line ()
  "Step time, what bounds the step and the trace; nil without a trace."
  (let* ((server (eglot-current-server))
         (status (and server (gethash server stepline-eglot--statuses)))
         (trace (plist-get status :trace)))
    (cond ((eq (plist-get status :loading) t) " loading trace")
          ((and (stringp trace) (not (string-empty-p trace)))
           (concat " " (stepline-eglot-duration (or (plist-get status :step_us) 0)) "/step"
                   (let ((class (plist-get status :class))) (if (stringp class) (concat " " class)))
                   (if (eq (plist-get status :stale) t) " stale"))))))

(add-to-list 'mode-line-misc-info '(:eval (when (bound-and-true-p eglot--managed-mode) (stepline-eglot-mode-line))) t)

;;;; Commands

(defun stepline-eglot--server ()
  "The server of this buffer."
  (or (eglot-current-server) (user-error "No server runs for this buffer; open a Python file and M-x eglot")))

(defun stepline-eglot--execute (command &rest arguments)
  "Run the server's COMMAND with ARGUMENTS and return its answer."
  (jsonrpc-request (stepline-eglot--server) :workspace/executeCommand
                   (list :command command :arguments (vconcat arguments)) :timeout 300))

(defun stepline-eglot--report (format)
  "The report on the loaded run in FORMAT."
  (plist-get (jsonrpc-request (stepline-eglot--server) :stepline/report (list :format format) :timeout 60) :content))

(defun stepline-eglot--show (name content)
  "Show CONTENT, Markdown, in the buffer NAME."
  (with-current-buffer (get-buffer-create name)
    (let ((inhibit-read-only t))
      (erase-buffer)
      (insert content)
      (goto-char (point-min)))
    (if (fboundp 'gfm-view-mode) (gfm-view-mode) (special-mode))
    (display-buffer (current-buffer))))

;;;###autoload
(defun stepline-eglot-load-trace (file)
  "Load the trace FILE, or the ranks of one run in a folder."
  (interactive "fTrace: ")
  (let ((trace (plist-get (stepline-eglot--execute "stepline.loadTrace" (expand-file-name file)) :trace)))
    (message "stepline: %d steps of %s" (plist-get trace :steps) (stepline-eglot-duration (plist-get trace :step_mean_us)))))

;;;###autoload
(defun stepline-eglot-unload-trace ()
  "Forget the loaded trace; the lint stays."
  (interactive)
  (stepline-eglot--execute "stepline.unloadTrace")
  (message "stepline: no trace is loaded"))

;;;###autoload
(defun stepline-eglot-report ()
  "Show why the GPU waits in the loaded run, and what to do first."
  (interactive)
  (stepline-eglot--show "*stepline report*" (stepline-eglot--report "markdown")))

;;;###autoload
(defun stepline-eglot-explain-rule (rule)
  "Show the page of RULE, such as SYN001."
  (interactive (list (read-string "Rule: " (stepline-eglot--rule-at-point))))
  (stepline-eglot--show (format "*stepline %s*" rule) (plist-get (stepline-eglot--execute "stepline.explainRule" rule) :content)))

(defun stepline-eglot--rule-at-point ()
  "The rule of a finding on this line, nil where there is none."
  (cl-loop for diagnostic in (flymake-diagnostics (line-beginning-position) (line-end-position))
           when (string-match "\\b[A-Z]\\{3\\}[0-9]\\{3\\}\\b" (flymake-diagnostic-text diagnostic))
           return (match-string 0 (flymake-diagnostic-text diagnostic))))

;;;###autoload
(defun stepline-eglot-hot-lines (count)
  "List the COUNT most expensive lines of the run, to jump from as from `grep'.
Without a prefix argument COUNT is 20."
  (interactive (list (if current-prefix-arg (prefix-numeric-value current-prefix-arg) 20)))
  (let* ((report (json-parse-string (stepline-eglot--report "json") :object-type 'plist))
         (trace (plist-get report :trace))
         (steps (* (max 1 (plist-get trace :steps)) (max 1 (plist-get trace :ranks))))
         (total (plist-get trace :gpu_total_us))
         (root (project-root (eglot--project (stepline-eglot--server))))
         (cost (lambda (row) (+ (plist-get row :cuda_self_us) (plist-get row :cuda_backward_us))))
         (rows (seq-take (sort (append (plist-get report :lines) nil) (lambda (a b) (> (funcall cost a) (funcall cost b)))) count)))
    (with-current-buffer (get-buffer-create "*stepline hot lines*")
      (let ((inhibit-read-only t))
        (erase-buffer)
        (setq default-directory (file-name-as-directory root))
        (insert "GPU time a step, forward and backward\n")
        (dolist (row rows)
          (insert (format "%s:%d: %s · %.1f %% · %s\n" (plist-get row :file) (plist-get row :line)
                          (stepline-eglot-duration (/ (funcall cost row) steps))
                          (if (> total 0) (/ (* 100.0 (funcall cost row)) total) 0) (plist-get row :function))))
        (goto-char (point-min))
        (grep-mode))
      (setq next-error-last-buffer (current-buffer))
      (display-buffer (current-buffer)))))

;;;###autoload
(defun stepline-eglot-record (command)
  "Run COMMAND, such as \"python train.py\", under the recorder.
The trace is written below runs in this file's folder and loaded when
COMMAND has ended."
  (interactive (list (read-shell-command "Record: " (format "python %s" (file-name-nondirectory (or buffer-file-name "train.py"))))))
  (let* ((source (current-buffer))
         (output (format-time-string "runs/%Y-%m-%dT%H-%M-%S"))
         (written (expand-file-name output)))
    (with-current-buffer (compile (format "%s record --output %s -- %s" (shell-quote-argument stepline-eglot-program) output command))
      (add-hook 'compilation-finish-functions
                (lambda (&rest _)
                  (when (and (buffer-live-p source) (file-directory-p written)
                             (directory-files-recursively written "trace\\.json\\(\\.gz\\)?\\'"))
                    (with-current-buffer source (stepline-eglot-load-trace written))))
                nil t))))

(provide 'stepline-eglot)
;;; stepline-eglot.el ends here
